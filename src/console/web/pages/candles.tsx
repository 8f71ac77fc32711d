import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  type HistogramData,
  HistogramSeries,
  type UTCTimestamp,
} from 'lightweight-charts';
import { createEffect, on, onCleanup, onMount } from 'solid-js';
import type { BarQuality, BarView } from '../../../protocols/console-api.ts';
import { colour, theme } from '../state/theme.ts';

const seconds = (bar: BarView) => (bar.openAtMs / 1000) as UTCTimestamp;

/** Candles with volume; bars of doubtful or mended quality are painted in their own colour and marked. */
export function Candles(props: { readonly bars: readonly BarView[]; readonly series: string }) {
  let place!: HTMLDivElement;
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
    const draw = () => {
      const paint = palette();
      candles.setData(props.bars.map((bar) => candle(bar, paint)));
      volume.setData(props.bars.map((bar) => volumeOf(bar, paint)));
      const notable = props.bars.filter((bar) => bar.quality === 'gap' || bar.quality === 'repaired');
      markers.setMarkers(
        notable.map((bar) => ({
          time: seconds(bar),
          position: 'aboveBar',
          shape: bar.quality === 'gap' ? 'arrowDown' : 'circle',
          color: paint[bar.quality] ?? '',
          text: bar.quality === 'gap' ? 'gap' : '',
        })),
      );
    };
    createEffect(
      on([theme, () => props.series], () => {
        // The stylesheet's colours follow in the next frame.
        requestAnimationFrame(() => {
          chart.applyOptions(options());
          draw();
          chart.timeScale().fitContent();
        });
      }),
    );
    createEffect(on(() => props.bars, draw));
    onCleanup(() => chart.remove());
  });
  return <div ref={place} class="candles" role="img" aria-label={`Candles of ${props.series}`} />;
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

function options() {
  const line = { color: colour('line') };
  return {
    layout: {
      background: { type: ColorType.Solid, color: colour('surface') },
      textColor: colour('muted'),
      attributionLogo: false,
    },
    grid: { vertLines: line, horzLines: line },
    rightPriceScale: { borderColor: colour('line') },
    timeScale: { borderColor: colour('line'), timeVisible: true, secondsVisible: false, rightOffset: 3 },
  };
}
