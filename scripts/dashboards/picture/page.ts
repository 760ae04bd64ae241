/** A dashboard as a page: its grid, its rows, and its panels with their results. Pure. */
import { viewOf, type DashboardResults, type PanelResult } from '../check.ts';
import type { Panel } from '../dashboard.ts';
import type { View } from '../interpolation.ts';
import { barChart, barGauge } from './bars.ts';
import { heatMap } from './heat-map.ts';
import { stat } from './stat.ts';
import { colours, escapeXml } from './svg.ts';
import { table } from './table.ts';
import { timeSeries, type Size } from './time-series.ts';

/** Width of the page, pixels. */
export const pageWidth = 1_480;
const margin = 12;
const gap = 8;
const cell = 38;
const titleHeight = 30;
const headHeight = 56;

/** HTML of the page. */
export function page({ dashboard, panels, view }: DashboardResults): string {
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => (gridPos?.y ?? 0) + (gridPos?.h ?? 0)));
  return `<!doctype html><meta charset="utf-8"><style>
body{margin:0;background:${colours.page};color:${colours.text};font-family:Inter,"Liberation Sans","DejaVu Sans Condensed",Arial,sans-serif;font-size:12px}
.page{position:relative;width:${pageWidth}px;height:${headHeight + bottom * cell + margin}px}
.head{position:absolute;left:${margin}px;right:${margin}px;top:12px;display:flex;gap:10px;align-items:center}
.head b{font-size:16px;font-weight:500;margin-right:auto}
.chip{border:1px solid ${colours.border};background:${colours.panel};border-radius:3px;padding:5px 9px;color:${colours.text}}.panel .chip{font-size:10px;padding:1px 5px;color:${colours.faint}}.chip i{font-style:normal;color:#6e9fff;margin-right:6px}
.row{position:absolute;left:${margin}px;font-size:14px;font-weight:500}
.panel{position:absolute;background:${colours.panel};border:1px solid ${colours.border};border-radius:3px;box-sizing:border-box;overflow:hidden}
.panel h2{margin:0;padding:7px 9px;height:16px;font-size:12.5px;font-weight:500;white-space:nowrap}
svg{display:block;font-family:inherit}
</style><div class="page"><div class="head"><b>${escapeXml(dashboard.title ?? '')}</b>${renderVariables(dashboard.templating.list)}<span class="chip">${escapeXml(span(view))}</span></div>
${dashboard.panels
  .filter(({ type }) => type === 'row')
  .map(row)
  .join('\n')}
${panels.map((panelAnswer) => renderPanelBox(panelAnswer, view)).join('\n')}</div>`;
}

function renderVariables(variables: DashboardResults['dashboard']['templating']['list']): string {
  return variables
    .filter(({ type }) => type !== 'datasource')
    .map(
      ({ name, includeAll }) =>
        `<span class="chip"><i>${escapeXml(name)}</i>${includeAll === true ? 'All' : 'explore'}</span>`,
    )
    .join('');
}

function span({ fromMs, toMs }: View): string {
  const minutes = Math.round((toMs - fromMs) / 60_000);
  return minutes > 2_880 ? `Last ${Math.round(minutes / 1_440)} days` : `Last ${minutes} minutes`;
}

function row({ title = '', gridPos }: Panel): string {
  return `<div class="row" style="top:${headHeight + (gridPos?.y ?? 0) * cell + 6}px">⌄ ${escapeXml(title)}</div>`;
}

function renderPanelBox(panelAnswer: PanelResult, view: View): string {
  const { panel } = panelAnswer;
  const { x = 0, y = 0, w = 1, h = 1 } = panel.gridPos ?? {};
  const column = (pageWidth - 2 * margin + gap) / 24;
  const [width, height] = [Math.round(w * column - gap), h * cell - gap];
  const size = { w: width - 2, h: height - titleHeight - 2 };
  const style = `left:${Math.round(margin + x * column)}px;top:${headHeight + y * cell}px;width:${width}px;height:${height}px`;
  const panelNote = panel.timeFrom === undefined ? '' : ` <span class="chip">last ${panel.timeFrom}</span>`;
  const panelSvg = `<svg width="${size.w}" height="${size.h}">${renderPanel(panelAnswer, view, size)}</svg>`;
  return `<div class="panel" style="${style}"><h2>${escapeXml(panel.title ?? '')}${panelNote}</h2>${panelSvg}</div>`;
}

function renderPanel({ panel, answers: targetAnswers }: PanelResult, view: View, size: Size): string {
  const frames = targetAnswers.flatMap((panelAnswer) => panelAnswer.frames);
  switch (panel.type) {
    case 'timeseries':
      return timeSeries(panel, frames, viewOf(panel, view), size);
    case 'barchart':
      return barChart(panel, frames, size);
    case 'bargauge':
      return barGauge(panel, frames, size);
    case 'stat':
      return stat(panel, frames, size);
    case 'heatmap':
      return heatMap(frames, size);
    case 'table':
      return table(panel, frames, size);
    default:
      throw new Error(`no drawing for panels of type ${panel.type}`);
  }
}
