/** Compares generated tables of the pages, exit codes and error codes with the program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  commandIndex,
  commandPages,
  commandSections,
  type CommandPage,
} from '../../src/cli/command-line/command-reference.ts';
import { leastRolesMarkdown } from '../../src/cli/command-line/least-roles.ts';
import { commands } from '../../src/cli/commands.ts';
import { verbs } from '../../src/cli/ledger/verbs.ts';
import { configMarkdown } from '../../src/config/config.ts';
import { troubleshootingMarkdown } from '../../src/errors/troubleshooting.ts';
import { ExitCode } from '../../src/errors/exit-code.ts';
import { apiRoutesMarkdown } from '../../src/observe/api/routes-table.ts';
import { storedRoutes } from '../../src/store/api/routes.ts';
import { relationsMarkdown } from '../../packages/codegen/src/graphql/relations-table.ts';
import { root } from './pages.ts';

function pageText(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

function textBetween(page: string, name: string): string {
  return new RegExp(`<!-- ${name} -->\n(.*)\n<!-- /${name} -->`, 's').exec(pageText(page))?.[1]?.trim() ?? '';
}

it('docs/reference/configuration.md lists the current options (fix: npm run docs:generate)', () => {
  expect(textBetween('docs/reference/configuration.md', 'configuration')).toBe(configMarkdown());
});

describe('docs/reference/error-codes.md', () => {
  it('contains the current catalog (fix: npm run docs:generate)', () => {
    expect(textBetween('docs/reference/error-codes.md', 'troubleshooting')).toBe(troubleshootingMarkdown());
  });

  it('explains only existing codes', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const explainedCodes = [...pageText('docs/reference/error-codes.md').matchAll(/^\| (`[A-Z_`, ]+`) +\|/gm)].flatMap(
      ([, cell = '']) => [...cell.matchAll(/[A-Z_]+/g)].map(([code]) => code),
    );
    expect(explainedCodes.length).toBeGreaterThan(40);
    expect(explainedCodes.filter((code) => !new RegExp(`\\b${code}\\b`).test(sources))).toEqual([]);
  });
});

it('docs/reference/exit-codes.md documents every exit code', () => {
  const documentedCodes = [...pageText('docs/reference/exit-codes.md').matchAll(/^\| (\d+) +\|/gm)].map(([, code]) =>
    Number(code),
  );
  expect(documentedCodes).toEqual([...new Set(Object.values(ExitCode))].sort((a, b) => a - b));
});

describe('command reference', () => {
  const pages = Object.keys(commandPages) as CommandPage[];

  it('has every command on exactly one page', () => {
    expect(Object.values(commandPages).flat().toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  it('lists the commands in docs/reference/commands.md (fix: npm run docs:generate)', () => {
    expect(textBetween('docs/reference/commands.md', 'commands')).toBe(commandIndex(commands));
  });

  it.each(pages)('has the current sections in docs/reference/commands/%s.md (fix: npm run docs:generate)', (page) => {
    expect(textBetween(`docs/reference/commands/${page}.md`, 'commands')).toBe(commandSections(commands, page, verbs));
  });
});

it('docs/reference/api.md lists the routes (fix: npm run docs:generate)', () => {
  expect(textBetween('docs/reference/api.md', 'routes')).toBe(apiRoutesMarkdown(storedRoutes));
});

it('docs/reference/graphql-names.md lists the relations (fix: npm run docs:generate)', () => {
  expect(textBetween('docs/reference/graphql-names.md', 'relations')).toBe(relationsMarkdown());
});

it('docs/how-to/secure/roles.md lists the minimal roles (fix: npm run docs:generate)', () => {
  expect(textBetween('docs/how-to/secure/roles.md', 'least-roles')).toBe(leastRolesMarkdown());
});
