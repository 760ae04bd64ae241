/** The month of the demo and the output of `graphql --postgraphile`, for tests of the GraphQL API. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { graphqlCommand } from '../../src/cli/inspect/graphql.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { graphOf, type Graph } from '../../packages/codegen/src/graphql/graph.ts';
import { readReadSide } from '../../src/store/graphql/read-side.ts';
import { indexDemo, type DemoDatabase } from '../read/demo/demo-history.ts';
import { runCommand } from '../support/run-command.ts';

export interface GraphqlWorld extends AsyncDisposable {
  readonly demo: DemoDatabase;
  readonly graph: Graph;
  readonly folder: string;
  readonly tags: string;
  /** Runs the command graphql and returns its output. */
  readonly graphql: (...argv: string[]) => Promise<string>;
  /** The first column of the first row of a query. */
  readonly number: (sql: string, ...values: unknown[]) => Promise<number>;
}

export async function startGraphqlWorld(): Promise<GraphqlWorld> {
  const demo = await indexDemo();
  const folder = mkdtempSync(join(tmpdir(), 'graphql-test-'));
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test graphql' };
  const database = openDatabase({ url: demo.url, ...options });
  const graph = graphOf(await readReadSide(database));
  await database.close();
  await demo.query(`set search_path = explore, typed, pqs, ledger`);
  const graphql = async (...argv: string[]): Promise<string> => {
    let output = '';
    const io = { print: (line: string) => (output += `${line}\n`), write: (text: string) => (output += text) };
    await runCommand(graphqlCommand, argv, { DATABASE_URL: demo.url }, io);
    return output;
  };
  await graphql('--postgraphile', '--output', join(folder, 'tags.json5'));
  return {
    demo,
    graph,
    folder,
    tags: readFileSync(join(folder, 'tags.json5'), 'utf8'),
    graphql,
    number: async (sql, ...values) => {
      const [row] = await demo.query(sql, ...values);
      return Number(Object.values(row ?? {})[0]);
    },
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true });
      await demo[Symbol.asyncDispose]();
    },
  };
}
