/** The routes of `/api` as a table for docs/reference/api.md. */
import type { ApiRoute } from '../../model/push/read-api.ts';

/** Parameters of pages, which the page describes once. */
const common: ReadonlySet<string> = new Set(['where', 'sort', 'limit', 'cursor', 'allow_unseen']);

/** A Markdown table with one line for each route. */
export function apiRoutesMarkdown(routes: readonly ApiRoute[]): string {
  const lines = routes.map(({ path, description, parameters }) => {
    const names = parameters
      .filter(({ name, inPath }) => inPath !== true && !common.has(name))
      .map(({ name, required: isRequired }) => `\`${name}\`${isRequired === true ? ' (required)' : ''}`);
    return `| \`${path}\` | ${description} | ${names.join(', ')} |`;
  });
  return ['| Path | Returns | Parameters |', '| --- | --- | --- |', ...lines].join('\n');
}
