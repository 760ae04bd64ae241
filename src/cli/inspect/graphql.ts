/** `graphql`: generates the configuration of a GraphQL server for the views: keys, relations and visible views. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Graph } from '#codegen/graphql/graph';
import { loadConfig } from '../../config/config.ts';
import type { Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = '--postgraphile | --hasura [--output FILE]';

/** The name of the variable in Hasura's own examples. */
const hasuraUrlVariable = 'HASURA_GRAPHQL_DATABASE_URL';

export const graphqlCommand: Command = {
  name: 'graphql',
  usage,
  summary: 'generate keys and relations for PostGraphile 5 or Hasura 2',
  does: [
    'Generated from the views of the database, including typed views. Run it again when there are new views. The file is',
    'replaced atomically, and only if its contents change.',
  ],
  operands: [],
  flags: [
    { name: 'postgraphile', doc: 'generate smart tags: postgraphile.tags.json5' },
    { name: 'hasura', doc: 'generate metadata, version 3, for replace_metadata' },
    { name: 'output', value: 'FILE', doc: 'write to FILE instead of standard output' },
  ],
  examples: ['graphql --postgraphile --output postgraphile.tags.json5', 'graphql --hasura'],
  exits: [
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/how-to/integrate/graphql.md',
  /** @throws IndexerError USAGE, SCHEMA_OUTDATED and STORE_ errors */
  run: async ({ args, env, print, write }) => {
    const makeMetadata = await metadataMaker(args);
    const outputFile = args.text('output');
    await withDatabase(loadConfig(env, args.options), { command: 'graphql', feature: 'graphql' }, async (database) => {
      const { readReadSide } = await import('../../store/graphql/read-side.ts');
      const { graphOf } = await import('#codegen/graphql/graph');
      const graph = graphOf(await readReadSide(database));
      const text = `${JSON.stringify(makeMetadata(graph), null, 2)}\n`;
      if (outputFile === undefined) return write(text);
      const relations = graph.nodes.reduce((sum, { edges }) => sum + edges.length, 0);
      const summary = `${String(graph.nodes.length)} views and ${String(relations)} relations`;
      print(
        (await replaceFile(outputFile, text))
          ? `${summary} written to ${outputFile}`
          : `${outputFile} is up to date: ${summary}`,
      );
    });
  },
};

async function metadataMaker(args: Args): Promise<(graph: Graph) => unknown> {
  if (args.has('postgraphile') === args.has('hasura')) {
    throw usageError('graphql needs either --postgraphile or --hasura', `ledger-indexer graphql ${usage}`);
  }
  if (args.has('postgraphile')) return (await import('#codegen/graphql/smart-tags')).smartTags;
  const { hasuraMetadata } = await import('#codegen/graphql/hasura');
  return (graph) => hasuraMetadata(graph, hasuraUrlVariable);
}

/** Replaces the file atomically, and only if it changes, for servers that watch it. */
async function replaceFile(path: string, text: string): Promise<boolean> {
  try {
    if ((await readFile(path, 'utf8')) === text) return false;
  } catch {
    // The file does not exist or cannot be read. If writing fails as well, that is reported.
  }
  try {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw usageError(`${path} cannot be written: ${reason}`, 'pass a file in a writable folder');
  }
  return true;
}
