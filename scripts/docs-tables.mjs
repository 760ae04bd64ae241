// Writes generated tables into the pages of the documentation: `npm run docs:generate`, after a build.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commandIndex, commandPages, commandSections } from '../dist/cli/command-line/command-reference.js';
import { leastRolesMarkdown } from '../dist/cli/command-line/least-roles.js';
import { commands } from '../dist/cli/commands.js';
import { verbs } from '../dist/cli/ledger/verbs.js';
import { configMarkdown } from '../dist/config/config.js';
import { troubleshootingMarkdown } from '../dist/errors/troubleshooting.js';
import { apiRoutesMarkdown } from '../dist/observe/api/routes-table.js';
import { storedRoutes } from '../dist/store/api/routes.js';
import { relationsMarkdown } from '../dist/packages/codegen/graphql/relations-table.js';

put('docs/reference/configuration.md', 'configuration', configMarkdown());
put('docs/reference/error-codes.md', 'troubleshooting', troubleshootingMarkdown());
put('docs/reference/commands.md', 'commands', commandIndex(commands));
for (const page of Object.keys(commandPages)) {
  put(`docs/reference/commands/${page}.md`, 'commands', commandSections(commands, page, verbs));
}
put('docs/reference/api.md', 'routes', apiRoutesMarkdown(storedRoutes));
put('docs/reference/graphql-names.md', 'relations', relationsMarkdown());
put('docs/how-to/secure/roles.md', 'least-roles', leastRolesMarkdown());

/** Replaces the text between the markers of this name. */
function put(page, name, table) {
  const file = fileURLToPath(new URL(`../${page}`, import.meta.url));
  const text = readFileSync(file, 'utf8');
  const [before, after] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(before) + before.length;
  const to = text.indexOf(after);
  if (from < before.length || to < from) throw new Error(`${page} has no place between ${before} and ${after}`);
  writeFileSync(file, `${text.slice(0, from)}\n\n${table}\n\n${text.slice(to)}`);
}
