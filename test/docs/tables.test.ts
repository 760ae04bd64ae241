/** The tables of the pages that the program prints itself, and what it can end with, against the program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsMarkdown } from '../../src/cli/command-line/help.ts';
import { leastRolesMarkdown } from '../../src/cli/command-line/least-roles.ts';
import { commands } from '../../src/cli/commands.ts';
import { configMarkdown } from '../../src/config/config.ts';
import { troubleshootingMarkdown } from '../../src/errors/troubleshooting.ts';
import { ExitCode } from '../../src/errors/exit-code.ts';
import { relationsMarkdown } from '../../src/store/graphql/relations-table.ts';
import { root } from './pages.ts';

function between(page: string, name: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  return new RegExp(`<!-- ${name} -->\n(.*)\n<!-- /${name} -->`, 's').exec(text)?.[1]?.trim() ?? '';
}

describe('docs/operations.md', () => {
  const text = readFileSync(join(root, 'docs/operations.md'), 'utf8');

  it('documents exactly the options the program has: node dist/main.js config --markdown', () => {
    expect(between('docs/operations.md', 'configuration')).toBe(configMarkdown());
  });

  it('of failures is the catalogue, every code with what to do', () => {
    expect(between('docs/operations.md', 'troubleshooting')).toBe(troubleshootingMarkdown());
  });

  it('documents every exit code', () => {
    const documented = [...text.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
    expect(documented).toEqual([...new Set(Object.values(ExitCode))].sort((a, b) => a - b));
  });

  it('explains no code of a failure that the program does not have', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const table = text.slice(text.indexOf('\n## Troubleshooting'));
    const explained = [...table.matchAll(/^\| (`[A-Z_`, ]+`) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/[A-Z_]+/g)].map(([code]) => code),
    );
    expect(explained.length).toBeGreaterThan(40);
    expect(explained.filter((code) => !new RegExp(`\\b${code}\\b`).test(sources))).toEqual([]);
  });
});

describe('docs/commands.md', () => {
  it('documents exactly the commands the program has: node dist/main.js help --markdown', () => {
    // The program links from the folder of the project, the page from its own.
    expect(between('docs/commands.md', 'commands')).toBe(commandsMarkdown(commands).replaceAll('](docs/', ']('));
  });
});

it('docs/graphql.md shows the relations that there are', () => {
  expect(between('docs/graphql.md', 'relations')).toBe(relationsMarkdown());
});

it('docs/security.md lists the least role of each feature: npm run docs:generate', () => {
  expect(between('docs/security.md', 'least-roles')).toBe(leastRolesMarkdown());
});
