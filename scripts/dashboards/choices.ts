/** The values of the variables of a dashboard. */
import type { Dashboard, Variable } from './dashboard.ts';
import type { Choice, Choices } from './interpolation.ts';

/** Runs the query of a variable; `choices` has the values of the variables before it. */
export type ListOptions = (variable: Variable, choices: Choices) => Promise<readonly string[]>;

/**
 * Selects "All" for every variable, which is the default of the dashboards.
 * @param problems receives one sentence for each variable without a value
 */
export async function chooseAll(dashboard: Dashboard, list: ListOptions, problems: string[]): Promise<Choices> {
  const choices = new Map<string, Choice>();
  for (const variable of dashboard.templating.list) {
    const { name, type, allValue: all, includeAll } = variable;
    if (type === 'datasource') {
      choices.set(name, { values: [name] });
      continue;
    }
    const values = await list(variable, choices).catch((error: unknown) => {
      problems.push(`variable ${name}: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    });
    if (values.length === 0) problems.push(`variable ${name} has no value`);
    choices.set(name, {
      values: includeAll === true ? values : values.slice(0, 1),
      all: includeAll === true ? all : undefined,
    });
  }
  return choices;
}
