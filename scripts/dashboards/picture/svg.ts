/** Colors, texts and axes for all drawings. Pure. */

export const colours = {
  page: '#111217',
  panel: '#181b1f',
  border: '#2c3036',
  grid: '#282b31',
  text: '#d8d9e0',
  faint: '#9a9ba6',
} as const;

/** Colors of the series in order; the classic palette of Grafana. */
const palette = [
  '#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0', '#37872d', '#fade2a',
  '#447ebc', '#c15c17', '#890f02', '#0a437c', '#6d1f62',
]; // prettier-ignore

const colorNames: Readonly<Record<string, string>> = {
  green: '#73bf69',
  orange: '#ff9830',
  red: '#f2495c',
  blue: '#5794f2',
  purple: '#b877d9',
  text: colours.text,
};

/** Color of the nth series. */
export function seriesColour(index: number): string {
  return palette[index % palette.length] ?? colours.text;
}

/** Color for a name that thresholds use. */
export function colourNamed(name: string): string {
  return colorNames[name] ?? name;
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

export interface TextStyle {
  readonly size?: number;
  readonly fill?: string;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly weight?: number;
}

export function text(x: number, y: number, label: string, textStyle: TextStyle = {}): string {
  const { size = 11, fill = colours.faint, anchor = 'start', weight = 400 } = textStyle;
  return `<text x="${coordinate(x)}" y="${coordinate(y)}" font-size="${size}" fill="${fill}" text-anchor="${anchor}" font-weight="${weight}">${escapeXml(label)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, strokeColor: string = colours.grid): string {
  return `<line x1="${coordinate(x1)}" y1="${coordinate(y1)}" x2="${coordinate(x2)}" y2="${coordinate(y2)}" stroke="${strokeColor}"/>`;
}

export function rect(x: number, y: number, w: number, h: number, fill: string, attributes = ''): string {
  return `<rect x="${coordinate(x)}" y="${coordinate(y)}" width="${coordinate(Math.max(w, 0))}" height="${coordinate(Math.max(h, 0))}" fill="${fill}" ${attributes}/>`;
}

export function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Approximate width of a text of this size, in pixels. */
export function widthOf(label: string, size = 11): number {
  return label.length * size * 0.56;
}

export function shortenText(label: string, pixels: number, size = 11): string {
  const maxCharacters = Math.max(2, Math.floor(pixels / (size * 0.56)));
  return label.length <= maxCharacters ? label : `${label.slice(0, maxCharacters - 1)}…`;
}

/** Round numbers that span at least `from` to `to`, in multiples of 1000 or 1024. */
export function ticks(from: number, to: number, targetCount: number, thousand: 1000 | 1024 = 1000): readonly number[] {
  const unit = thousand === 1000 ? 1 : 1024 ** Math.max(0, Math.floor(Math.log(to || 1) / Math.log(1024)));
  return roundTicks(from / unit, to / unit, targetCount).map((tick) => tick * unit);
}

function roundTicks(from: number, to: number, targetCount: number): readonly number[] {
  const span = to - from || 1;
  const roughStep = span / targetCount;
  const power = 10 ** Math.floor(Math.log10(roughStep));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= roughStep) ?? 10);
  const first = Math.floor(from / step + 1e-9) * step;
  const count = Math.ceil((to - first) / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, n) => first + n * step);
}

/** Round times between two moments, milliseconds, with their labels. */
export function timeTicks(fromMs: number, toMs: number, targetCount: number): readonly { at: number; label: string }[] {
  const steps = [
    5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 604_800,
  ];
  const step = (steps.find((seconds) => (toMs - fromMs) / 1000 / seconds <= targetCount) ?? 604_800) * 1_000;
  const first = Math.ceil(fromMs / step) * step;
  const count = Math.max(0, Math.floor((toMs - first) / step) + 1);
  return Array.from({ length: count }, (_, n) => {
    const tickTime = first + n * step;
    const isoTime = new Date(tickTime).toISOString();
    return {
      at: tickTime,
      label: step >= 86_400_000 ? isoTime.slice(5, 10) : isoTime.slice(11, step < 60_000 ? 19 : 16),
    };
  });
}
