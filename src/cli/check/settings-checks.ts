/**
 * Recommends Postgres settings that determine the cost of a long history. These checks never fail, because the settings
 * belong to the operator of the server, and a managed server may not allow a change. The costs were measured, see
 * docs/decisions/README.md.
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

type SettingCheck = (setting: ServerSetting, allSettings: ServerSettings) => Finding;

/** The checks in the order of the output. */
export function settingsChecks(database: Database): readonly Check[] {
  let pendingSettings: Promise<ServerSettings> | undefined;
  const settings = (): Promise<ServerSettings> => (pendingSettings ??= serverSettings(database));
  return settingChecks.map(([name, checkSetting]) => ({
    name,
    after: ['postgres'],
    run: async () => {
      const allSettings = await settings();
      const setting = allSettings.get(name);
      return setting === undefined
        ? skip('this server does not have this setting')
        : checkSetting(setting, allSettings);
    },
  }));
}

const settingChecks: readonly (readonly [ServerSettingName, SettingCheck])[] = [
  ['shared_buffers', sharedBuffers],
  ['max_wal_size', maxWalSize],
  ['checkpoint_timeout', checkpointTimeout],
  ['wal_compression', walCompression],
  ['random_page_cost', randomPageCost],
  ['jit', jit],
];

function sharedBuffers(setting: ServerSetting): Finding {
  const { formatted: displayValue, amount } = setting;
  if (amount >= gibibyte) return pass(displayValue);
  return warn(
    `${displayValue}, expected 1GB or more: the indexes of a long history are read from disk repeatedly, and every event costs more CPU`,
    `${serverWide(setting, 'shared_buffers=1GB')}, then restart Postgres; the best value is a quarter of the memory of the server`,
  );
}

function maxWalSize(setting: ServerSetting): Finding {
  const { formatted: displayValue, amount } = setting;
  if (amount >= 4 * gibibyte) return pass(displayValue);
  return warn(
    `${displayValue}, expected 8GB: under load, checkpoints follow each other, and after each one Postgres logs full pages again`,
    `if the disk is large enough: ${serverWide(setting, 'max_wal_size=8GB')}; recovery from a crash takes longer then`,
  );
}

function checkpointTimeout(setting: ServerSetting): Finding {
  const { formatted: displayValue, amount } = setting;
  if (amount >= 15 * minute) return pass(displayValue);
  return warn(
    `${displayValue}, expected 15min or more: after each checkpoint Postgres logs full pages again, which is most of the log`,
    `${serverWide(setting, 'checkpoint_timeout=15min')}; recovery from a crash takes longer then`,
  );
}

function walCompression(
  { formatted: displayValue, words: allowedValues }: ServerSetting,
  { database }: ServerSettings,
): Finding {
  // Before Postgres 15 this setting is either on or off, because there is only one method.
  if (displayValue !== 'on' && displayValue !== 'pglz') return pass(displayValue);
  const recommendedValue = allowedValues.includes('lz4') ? 'lz4' : 'off';
  return warn(
    `${displayValue === 'on' ? 'on, which is pglz' : displayValue}, expected lz4 or off: with a long history, pglz makes an event cost up to four times the CPU`,
    `run as a superuser: ${databaseWide(database, 'wal_compression', recommendedValue)}; on a managed service, set the parameter of this name`,
  );
}

function randomPageCost({ formatted: displayValue, amount }: ServerSetting, { database }: ServerSettings): Finding {
  if (amount <= 2) return pass(displayValue);
  return warn(
    `${displayValue}, a value for rotating disks, expected 1.1: queries of readers may scan entire tables instead of using an index`,
    `run as the owner of the database: ${databaseWide(database, 'random_page_cost', '1.1')}; the indexer itself does not need it`,
  );
}

function jit({ formatted: displayValue }: ServerSetting, { database, canCompile }: ServerSettings): Finding {
  if (displayValue !== 'on') return pass(displayValue);
  if (!canCompile) return pass('on, without effect: this server was built without LLVM');
  return warn(
    'on, expected off: sessions of the indexer disable it, but queries of readers over many views spend a fifth of a second on compilation',
    `run as the owner of the database: ${databaseWide(database, 'jit', 'off')}; the indexer itself does not need it`,
  );
}

/**
 * The fix for a setting of the entire server.
 * @param assignment in the form of a command line argument, e.g. `max_wal_size=8GB`
 */
function serverWide({ isSetAtServerStart }: ServerSetting, assignment: string): string {
  if (isSetAtServerStart) return `-c ${assignment} in the start command of Postgres, which sets another value now`;
  const [name = '', value = ''] = assignment.split('=');
  const reload = name === 'shared_buffers' ? '' : ' and `select pg_reload_conf()`';
  return `\`alter system set ${name} = '${value}'\`${reload}, or set the parameter of this name on a managed service`;
}

/** The fix for a setting that applies when a session starts. */
function databaseWide(database: string, name: ServerSettingName, value: string): string {
  return `\`alter database ${database} set ${name} = ${value}\``;
}
