/** `graphql`: what a GraphQL server has to know of the views, which no catalog tells: keys, relations, what is for readers. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { loadConfig } from '../../config/config.ts';
import type { Graph } from '../../store/graphql/graph.ts';
import type { Command } from '../command-line/command.ts';
import type { Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = '--postgraphile | --hasura [--output FILE]';

/** As Hasura's own examples call it. */
const hasuraUrlVariable = 'HASURA_GRAPHQL_DATABASE_URL';

export const graphqlCommand: Command = {
  name: 'graphql',
  usage,
  summary:
    'keys and relations of the views for a GraphQL server: smart tags of PostGraphile 5, or metadata of Hasura 2',
  does: [
    'Made from the views that the database has, typed ones included: to be run again when there are new ones. A file is',
    'replaced as a whole, and left alone where nothing has changed.',
  ],
  operands: [],
  flags: [
    { name: 'postgraphile', doc: 'postgraphile.tags.json5' },
    { name: 'hasura', doc: 'metadata, version 3, as replace_metadata takes it' },
    { name: 'output', value: 'FILE', doc: 'write it there instead of printing it' },
  ],
  examples: ['graphql --postgraphile --output postgraphile.tags.json5', 'graphql --hasura'],
  exits: [
    [69, 'the database cannot be reached'],
    [77, 'the role may not read it'],
  ],
  page: 'docs/how-to/integrate/graphql.md',
  /** @throws IndexerError USAGE, SCHEMA_OUTDATED and STORE_ errors */
  run: async ({ given, env, print, write }) => {
    const make = await makerOf(given);
    const out = given.text('output');
    await withDatabase(loadConfig(env, given.options), { command: 'graphql', feature: 'graphql' }, async (database) => {
      const { readReadSide } = await import('../../store/graphql/read-side.ts');
      const { graphOf } = await import('../../store/graphql/graph.ts');
      const graph = graphOf(await readReadSide(database));
      const text = `${JSON.stringify(make(graph), null, 2)}\n`;
      if (out === undefined) return write(text);
      const relations = graph.nodes.reduce((sum, { edges }) => sum + edges.length, 0);
      const what = `${String(graph.nodes.length)} views and ${String(relations)} relations`;
      print((await replaced(out, text)) ? `${what} written to ${out}` : `${out} has them already: ${what}`);
    });
  },
};

async function makerOf(given: Given): Promise<(graph: Graph) => unknown> {
  if (given.has('postgraphile') === given.has('hasura')) {
    throw misuse('graphql makes either --postgraphile or --hasura', `ledger-indexer graphql ${usage}`);
  }
  if (given.has('postgraphile')) return (await import('../../store/graphql/smart-tags.ts')).smartTags;
  const { hasuraMetadata } = await import('../../store/graphql/hasura.ts');
  return (graph) => hasuraMetadata(graph, hasuraUrlVariable);
}

/** A server that watches the file never sees half of one, and nothing at all where it is as it was. */
async function replaced(path: string, text: string): Promise<boolean> {
  try {
    if ((await readFile(path, 'utf8')) === text) return false;
  } catch {
    // None is there, or none that can be read: the write below says so.
  }
  try {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw misuse(`${path} cannot be written: ${reason}`, 'name a file in a folder that you may write to');
  }
  return true;
}
