/** `works`: what was asked for beside the stream and takes long; stopped, resumed or given up. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { workNames, type Work, type WorkName } from '../../model/stream.ts';
import { type Call, json, writing, type Command, type Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer works [list] [--json]
  ledger-indexer works stop | resume | cancel NAME`;
const actions = ['list', 'stop', 'resume', 'cancel'] as const;

export const worksCommand: Command = {
  name: 'works',
  usage: '[list] | stop NAME | resume NAME | cancel NAME',
  summary: 'what is done beside the stream and takes long (widen, history, rebuild): list, stop, resume, give up',
  does: [
    'Who does it notices within a few seconds. What was stopped goes on where it was, what was given up is removed.',
  ],
  operands: [
    { name: 'ACTION', words: [...actions], optional: true },
    { name: 'NAME', words: [...workNames], optional: true },
  ],
  flags: [json],
  examples: ['works', 'works stop history', 'works resume history'],
  exits: writing,
  page: 'docs/history.md',
  /** @throws IndexerError USAGE, WORK_REFUSED */
  run: async ({ given, env, print }) => {
    const action = actionOf(given);
    const [verb] = given.operands;
    const opening = {
      command: 'works',
      feature: `works ${actions.find((known) => known === verb) ?? 'list'}`,
    } as const;
    await withDatabase(loadConfig(env, given.options), opening, (database) => action(database, print));
  },
};

type Action = (database: Database, print: Print) => Promise<void>;

function actionOf(given: Call['given']): Action {
  const [verb = 'list', name, ...more] = given.operands;
  const action = actions.find((known) => known === verb);
  if (action === undefined) throw misuse(`works knows no "${verb}"`, usage);
  if (action === 'list') {
    if (name !== undefined) throw misuse('works list takes no name', usage);
    return (database, print) => list(database, given.has('json'), print);
  }
  const work = workNames.find((known) => known === name);
  if (work === undefined || more.length > 0)
    throw misuse(`works ${action} needs one name of ${workNames.join(', ')}`, usage);
  return (database, print) => change(database, work, action, print);
}

async function list(database: Database, asJson: boolean, print: Print): Promise<void> {
  const { listWorks } = await import('../../store/history/works.ts');
  const works = await database.withClient(listWorks);
  if (asJson) for (const work of works) print(JSON.stringify(work));
  else if (works.length === 0) print('nothing was asked for');
  else for (const work of works) print(lineOf(work));
}

function lineOf(work: Work): string {
  const { name, state, step, unit, done, total, perSecond, problem, changedAt } = work;
  const counted = unit === null ? '' : `, ${String(done)}${total === null ? '' : ` of ${String(total)}`} ${unit}`;
  const speed = perSecond === null ? '' : `, ${perSecond.toFixed(perSecond < 10 ? 1 : 0)} per second`;
  const doing = step === null ? '' : `: ${step}${counted}${speed}`;
  const why = problem === null ? '' : `; ${problem}`;
  return `${name}  ${state}${doing}${why}  (${changedAt.toISOString()})`;
}

async function change(
  database: Database,
  name: WorkName,
  action: 'stop' | 'resume' | 'cancel',
  print: Print,
): Promise<void> {
  const works = await import('../../store/history/works.ts');
  if (action !== 'cancel') {
    await database.withClient((client) => works.changeWork(client, name, action));
    return print(
      action === 'stop' ? `${name} rests; to go on: ledger-indexer works resume ${name}` : `${name} goes on`,
    );
  }
  if (await database.withClient((client) => works.cancelWork(client, name))) return print(`${name} is given up`);
  throw new IndexerError(`there is no ${name} to give up`, {
    code: 'WORK_REFUSED',
    remedy: 'ledger-indexer works lists what there is; what is done stays',
  });
}
