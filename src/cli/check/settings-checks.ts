/**
 * Advice on settings of Postgres that decide what a long history costs. Nothing fails by them: they belong to whoever runs the
 * server, and a managed one may not let them be changed. What each costs was measured, see docs/decisions/README.md.
 */
import type { Database } from '../../store/connection/database.ts';
import {
  serverSettings,
  type ServerSetting,
  type ServerSettingName,
  type ServerSettings,
} from '../../store/connection/server-settings.ts';
import { type Check, type Finding, pass, skip, warn } from './outcome.ts';

const gibibyte = 2 ** 30;
const minute = 60_000;

type Judge = (setting: ServerSetting, all: ServerSettings) => Finding;

/** In the order in which they are shown. */
export function settingsChecks(database: Database): readonly Check[] {
  let answer: Promise<ServerSettings> | undefined;
  const settings = (): Promise<ServerSettings> => (answer ??= serverSettings(database));
  return judges.map(([name, judge]) => ({
    name,
    after: ['postgres'],
    run: async () => {
      const all = await settings();
      const setting = all.get(name);
      return setting === undefined ? skip('this server has no such setting') : judge(setting, all);
    },
  }));
}

const judges: readonly (readonly [ServerSettingName, Judge])[] = [
  ['shared_buffers', sharedBuffers],
  ['max_wal_size', maxWalSize],
  ['checkpoint_timeout', checkpointTimeout],
  ['wal_compression', walCompression],
  ['random_page_cost', randomPageCost],
  ['jit', jit],
];

function sharedBuffers(setting: ServerSetting): Finding {
  const { shown, amount } = setting;
  if (amount >= gibibyte) return pass(shown);
  return warn(
    `${shown}, 1GB or more expected: the indexes of a long history are read from disk again, and every event costs more CPU`,
    `${serverWide(setting, 'shared_buffers=1GB')}, then restart Postgres; best is a quarter of the memory of the server`,
  );
}

function maxWalSize(setting: ServerSetting): Finding {
  const { shown, amount } = setting;
  if (amount >= 4 * gibibyte) return pass(shown);
  return warn(
    `${shown}, 8GB expected: under load checkpoints follow each other, and after each Postgres logs whole pages again`,
    `where the disk has room: ${serverWide(setting, 'max_wal_size=8GB')}; recovery from a crash takes longer with it`,
  );
}

function checkpointTimeout(setting: ServerSetting): Finding {
  const { shown, amount } = setting;
  if (amount >= 15 * minute) return pass(shown);
  return warn(
    `${shown}, 15min or more expected: after each checkpoint Postgres logs whole pages again, which is most of what it logs`,
    `${serverWide(setting, 'checkpoint_timeout=15min')}; recovery from a crash takes longer with it`,
  );
}

function walCompression({ shown, words }: ServerSetting, { database }: ServerSettings): Finding {
  // Before Postgres 15 there is one method, and a switch.
  if (shown !== 'on' && shown !== 'pglz') return pass(shown);
  const better = words.includes('lz4') ? 'lz4' : 'off';
  return warn(
    `${shown === 'on' ? 'on, which is pglz' : shown}, lz4 or off expected: over a long history pglz makes an event cost up to four times the CPU`,
    `by a superuser: ${databaseWide(database, 'wal_compression', better)}; on a managed service the parameter of this name`,
  );
}

function randomPageCost({ shown, amount }: ServerSetting, { database }: ServerSettings): Finding {
  if (amount <= 2) return pass(shown);
  return warn(
    `${shown}, as for disks with moving heads, 1.1 expected: readers' queries may go through whole tables where an index would do`,
    `by the owner of the database: ${databaseWide(database, 'random_page_cost', '1.1')}; the indexer itself needs it not`,
  );
}

function jit({ shown }: ServerSetting, { database, canCompile }: ServerSettings): Finding {
  if (shown !== 'on') return pass(shown);
  if (!canCompile) return pass('on, without effect: this server was built without LLVM');
  return warn(
    "on, off expected: our own sessions have it off, but readers' queries over many views are compiled for a fifth of a second",
    `by the owner of the database: ${databaseWide(database, 'jit', 'off')}; the indexer itself needs it not`,
  );
}

/** @param wanted as on a command line: `max_wal_size=8GB` */
function serverWide({ givenAtStart }: ServerSetting, wanted: string): string {
  if (givenAtStart) return `-c ${wanted} where Postgres is started, which gives another value now`;
  const [name = '', value = ''] = wanted.split('=');
  const reload = name === 'shared_buffers' ? '' : ' and `select pg_reload_conf()`';
  return `\`alter system set ${name} = '${value}'\`${reload}, or the parameter of this name on a managed service`;
}

/** For what every session takes when it begins. */
function databaseWide(database: string, name: ServerSettingName, value: string): string {
  return `\`alter database ${database} set ${name} = ${value}\``;
}
