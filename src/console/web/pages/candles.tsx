import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  type HistogramData,
  HistogramSeries,
  type SeriesMarker,
  type UTCTimestamp,
} from 'lightweight-charts';
import { createEffect, createSignal, on, onCleanup, onMount, Show } from 'solid-js';
import type { BarQuality, BarView } from '../../../protocols/console-api.ts';
import { colour, theme } from '../state/theme.ts';
import { MEANS } from './bar-quality.ts';

/** A few bars alone must not fill the chart. */
const BAR_WIDTH_MAX = 26;

const seconds = (bar: BarView) => (bar.openAtMs / 1000) as UTCTimestamp;

/** Candles with volume; bars that are not simply complete are painted in their own colour and marked. */
export function Candles(props: {
  readonly bars: readonly BarView[];
  readonly series: string;
  readonly hasSeconds: boolean;
}) {
  let place!: HTMLDivElement;
  const [pointed, setPointed] = createSignal<number>();
  /** The bar under the pointer as it is now; the newest where the pointer is elsewhere. */
  const told = () => props.bars.find((bar) => seconds(bar) === pointed()) ?? props.bars.at(-1);
  onMount(() => {
    // The library's own logo brings an inline style, which the page's policy forbids; the page names it in words.
    const chart = createChart(place, { autoSize: true, layout: { attributionLogo: false } });
    const candles = chart.addSeries(CandlestickSeries, { priceLineVisible: false });
    const volume = chart.addSeries(HistogramSeries, {
      priceScaleId: 'volume',
      priceFormat: { type: 'volume' },
      lastValueVisible: false,
      priceLineVisible: false,
    });
    chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    const markers = createSeriesMarkers(candles, []);
    chart.subscribeCrosshairMove(({ time }) => setPointed(time as number | undefined));
    let firstAtMs: number | undefined;
    const draw = () => {
      const paint = palette();
      candles.setData(props.bars.map((bar) => candle(bar, paint)));
      volume.setData(props.bars.map((bar) => volumeOf(bar, paint)));
      markers.setMarkers(props.bars.flatMap((bar) => markOf(bar, paint)));
      // History comes after the first live bars; then there is more to see than was looked at.
      if (props.bars[0]?.openAtMs === firstAtMs) return;
      firstAtMs = props.bars[0]?.openAtMs;
      chart.timeScale().fitContent();
    };
    createEffect(
      on([theme, () => props.series], () => {
        // The stylesheet's colours follow in the next frame.
        requestAnimationFrame(() => {
          chart.applyOptions(options(props.hasSeconds));
          draw();
          chart.timeScale().fitContent();
        });
      }),
    );
    createEffect(on(() => props.bars, draw));
    onCleanup(() => chart.remove());
  });
  return (
    <div class="candles">
      <div ref={place} class="chart" role="img" aria-label={`Candles of ${props.series}`} />
      <Show when={told()}>{(bar) => <Tip bar={bar()} />}</Show>
    </div>
  );
}

/** One bar in words, in the corner of the chart. */
function Tip(props: { readonly bar: BarView }) {
  const time = () => new Date(props.bar.openAtMs).toISOString().slice(0, 19).replace('T', ' ');
  return (
    <p class="tip" data-quality={props.bar.quality}>
      <span>{time()}</span>
      <span>
        O <b>{props.bar.open}</b> H <b>{props.bar.high}</b> L <b>{props.bar.low}</b> C <b>{props.bar.close}</b>
      </span>
      <span>
        {props.bar.trades} trades, volume {props.bar.volume}
      </span>
      <span class="quality">
        {props.bar.quality}: {MEANS[props.bar.quality]}
        {props.bar.closed ? `, revision ${props.bar.revision}` : '; the bar is open'}
      </span>
    </p>
  );
}

function markOf(bar: BarView, paint: Palette): readonly SeriesMarker<UTCTimestamp>[] {
  const [time, color] = [seconds(bar), paint[bar.quality] ?? ''];
  switch (bar.quality) {
    case 'gap':
      return [{ time, color, position: 'aboveBar', shape: 'arrowDown', text: 'gap' }];
    case 'repaired':
      return [{ time, color, position: 'aboveBar', shape: 'circle', text: `r${bar.revision}` }];
    case 'partial-first':
      return [{ time, color, position: 'belowBar', shape: 'square', text: 'partial' }];
    case 'quiet':
      return [{ time, color, position: 'belowBar', shape: 'circle', size: 0.3 }];
    default:
      return [];
  }
}

type Palette = Readonly<Partial<Record<BarQuality, string>> & { up: string; down: string }>;

function palette(): Palette {
  return {
    up: colour('up'),
    down: colour('down'),
    gap: colour('gap'),
    repaired: colour('repaired'),
    quiet: colour('faint'),
    'partial-first': colour('muted'),
  };
}

function candle(bar: BarView, paint: Palette): CandlestickData {
  const [open, high, low, close] = [bar.open, bar.high, bar.low, bar.close].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const direction = close >= open ? paint.up : paint.down;
  const special = paint[bar.quality];
  return {
    time: seconds(bar),
    ...{ open, high, low, close },
    color: special ?? direction,
    borderColor: special ?? direction,
    wickColor: special ?? direction,
  };
}

function volumeOf(bar: BarView, paint: Palette): HistogramData {
  const base = paint[bar.quality] ?? (Number(bar.close) >= Number(bar.open) ? paint.up : paint.down);
  return { time: seconds(bar), value: Number(bar.volume), color: `${base}66` };
}

function options(hasSeconds: boolean) {
  const line = { color: colour('line') };
  return {
    layout: {
      background: { type: ColorType.Solid, color: colour('surface') },
      textColor: colour('muted'),
      attributionLogo: false,
    },
    grid: { vertLines: line, horzLines: line },
    rightPriceScale: { borderColor: colour('line') },
    timeScale: {
      borderColor: colour('line'),
      timeVisible: true,
      secondsVisible: hasSeconds,
      rightOffset: 3,
      maxBarSpacing: BAR_WIDTH_MAX,
    },
  };
}
