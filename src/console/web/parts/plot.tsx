import { createEffect, onCleanup, onMount } from 'solid-js';
import type uPlot from 'uplot';
import { colour, theme } from '../state/theme.ts';

/** A calm line over time: no axes, the last value and the highest in words beside it. */
export function Sparkline(props: {
  readonly label: string;
  readonly values: readonly number[];
  readonly colour: string;
  readonly show: (value: number) => string;
}) {
  const highest = () => props.values.reduce((most, value) => Math.max(most, value), 0);
  return (
    <figure class="sparkline">
      <figcaption>
        <span>{props.label}</span>
        <b>{props.show(props.values.at(-1) ?? 0)}</b>
        <small>most {props.show(highest())}</small>
      </figcaption>
      <Plot
        height={44}
        data={() => [props.values.map((_, at) => at), [...props.values]]}
        options={(Uplot) => ({
          ...bare,
          scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
          series: [
            {},
            {
              stroke: colour(props.colour),
              fill: `${colour(props.colour)}22`,
              width: 1.5,
              points: { show: false },
              paths: Uplot.paths.linear!(),
            },
          ],
        })}
      />
    </figure>
  );
}

const bare = {
  cursor: { show: false },
  legend: { show: false },
  axes: [{ show: false }, { show: false }],
  padding: [2, 0, 2, 0] as [number, number, number, number],
};

type Data = [number[], number[]];
export type PlotOptions = Omit<uPlot.Options, 'width' | 'height'>;

/** uPlot, loaded when the first plot is shown, as wide as its place, and drawn anew when the theme changes. */
export function Plot(props: {
  readonly height: number;
  readonly data: () => Data;
  readonly options: (library: typeof uPlot) => PlotOptions;
}) {
  let place!: HTMLDivElement;
  let plot: uPlot | undefined;
  let library: typeof uPlot | undefined;
  let isGone = false;
  const draw = () => {
    plot?.destroy();
    if (library === undefined || isGone) return;
    plot = new library(
      { ...props.options(library), width: place.clientWidth, height: props.height },
      props.data(),
      place,
    );
  };
  const watcher = new ResizeObserver(() => plot?.setSize({ width: place.clientWidth, height: props.height }));
  onMount(async () => {
    const [loaded] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
    library = loaded.default;
    draw();
    watcher.observe(place);
  });
  createEffect(() => {
    const data = props.data();
    plot?.setData(data);
  });
  createEffect(() => {
    theme();
    // The stylesheet's colours follow in the next frame.
    requestAnimationFrame(draw);
  });
  onCleanup(() => {
    isGone = true;
    watcher.disconnect();
    plot?.destroy();
  });
  return <div ref={place} class="plot" aria-hidden="true" />;
}
