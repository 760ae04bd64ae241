/** The SQL of the dashboards: every panel, and every variable, which Grafana queries before the panels. */
import { join } from 'node:path';
import type { Client } from 'pg';
import { viewOf } from '../../../scripts/dashboards/check.ts';
import { chooseAll, type ListOptions } from '../../../scripts/dashboards/choices.ts';
import {
  findVisiblePanels,
  queryOf,
  readDashboards,
  type DashboardFile,
  type Panel,
  type Target,
} from '../../../scripts/dashboards/dashboard.ts';
import { expandSql, type Choices, type View } from '../../../scripts/dashboards/interpolation.ts';
import { variableValues, panelSql } from '../../../scripts/dashboards/postgres.ts';
import { root } from '../../../test/docs/pages.ts';
import { rangeStatements, type Collected, type HistoryEnds, type LeftOut, type Statement } from './statement.ts';

/** Intervals between points, as Grafana rounds them for a panel of 700 points over a month, and over a day. */
const intervalMs = { all: 3_600_000, day: 120_000 } as const;
const scrapeMs = 15_000;

interface Views {
  readonly all: View;
  readonly day: View;
}

/** @param client session of a reader, for the values of the variables */
export async function panelStatements(client: Client, ends: HistoryEnds): Promise<Collected> {
  const statements: Statement[] = [];
  const leftOut: LeftOut[] = [];
  const views = viewsOf(ends);
  for (const file of await readDashboards(join(root, 'grafana/dashboards'))) {
    const panels = sqlTargets(file);
    if (panels.length === 0) continue;
    const problems: string[] = [];
    const list: ListOptions = async (variable, chosen) => {
      const query = queryOf(variable);
      const name = `${file.name}: ${variable.name}`;
      const sql = expandSql(query, views.all, chosen);
      statements.push({ name, source: 'variable', range: undefined, role: 'reader', sql });
      return variableValues(client, query, views.all, chosen);
    };
    const choices = await chooseAll(file.dashboard, list, problems);
    leftOut.push(...problems.map((reason) => ({ name: file.name, reason })));
    statements.push(...panels.flatMap((one) => statementsOf(file.name, one, views, choices)));
  }
  return { statements, leftOut };
}

interface PanelTarget {
  readonly panel: Panel;
  readonly target: Target;
}

function sqlTargets({ dashboard }: DashboardFile): readonly PanelTarget[] {
  return findVisiblePanels(dashboard).flatMap((panel) =>
    (panel.targets ?? []).flatMap((target) => (target.rawSql === undefined ? [] : [{ panel, target }])),
  );
}

function viewsOf({ oldestTime, newestTime, dayTime }: HistoryEnds): Views {
  const toMs = newestTime.getTime();
  return {
    all: { fromMs: oldestTime.getTime(), toMs, intervalMs: intervalMs.all, scrapeMs },
    day: { fromMs: dayTime.getTime(), toMs, intervalMs: intervalMs.day, scrapeMs },
  };
}

/** One statement for each range, or a single one if the panel has a range of its own, or uses none. */
function statementsOf(
  dashboard: string,
  { panel, target }: PanelTarget,
  views: Views,
  choices: Choices,
): readonly Statement[] {
  const { refId } = target;
  const isOnly = (panel.targets ?? []).length === 1;
  const name = `${dashboard}: ${panel.title ?? ''}${isOnly || refId === undefined ? '' : ` ${refId}`}`;
  const sqlFor = (view: View): string => panelSql(panel, target, viewOf(panel, view), choices);
  return rangeStatements({ name, source: 'panel' }, sqlFor(views.all), sqlFor(views.day));
}
