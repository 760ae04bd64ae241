/** Checks whether the participant has the templates of LEDGER_TEMPLATES and the interfaces of LEDGER_INTERFACES. */
import type { Config } from '../../config/config.ts';
import { interfacesNamed, presetNames } from '../../config/interface-presets.ts';
import { nearestNames } from '../../errors/nearest-names.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import { knownInterfaces, knownTemplates } from '../../ledger/api/known-interfaces.ts';
import { fail, type Finding, pass, warn } from './outcome.ts';

interface FilterRequest {
  readonly client: LedgerClient;
  readonly config: Config;
  readonly end: () => Promise<number>;
}

const willCome =
  'nothing if the package will be uploaded: its interfaces are read then. Otherwise, correct LEDGER_INTERFACES';

/**
 * Checks whether a vetted package has the package name of each template and interface. Missing interfaces are not a
 * failure, because they may be uploaded later.
 */
export async function filterKnown(context: FilterRequest): Promise<Finding> {
  const { templates, wantedInterfaces } = context.config.ledger;
  const namesOf = (ids: readonly string[]): readonly string[] => ids.map((id) => id.slice(1, id.indexOf(':')));
  const needed = new Set(namesOf(templates));
  const names = new Set([...needed, ...namesOf(interfacesNamed(wantedInterfaces))]);
  if (names.size === 0) return pass('all templates: LEDGER_TEMPLATES and LEDGER_INTERFACES are empty');
  const vetted = await vettedNames(context.client, [...names]);
  const unknown = [...names].filter((name) => !vetted.has(name));
  if (unknown.length === 0) return (await interfacesKnown(context)) ?? pass(allVetted(names.size));
  const found = `there is no vetted package ${unknown.join(', ')}`;
  const presets = wantedInterfaces.every((name) => presetNames.includes(name));
  const isNeeded = unknown.some((name) => needed.has(name));
  if (!isNeeded && presets) return pass(`${found}: its interfaces are read when it is uploaded`);
  const all = await vettedNames(context.client, []);
  const nearest = [...new Set(unknown.flatMap((name) => nearestNames(name, all)))];
  const hinted = `${found}${nearest.length === 0 ? '' : ` (nearest: ${nearest.join(', ')})`}`;
  if (!isNeeded) return warn(hinted, willCome);
  return fail(hinted, 'upload it: ledger-indexer ledger upload-dar FILE; or correct LEDGER_TEMPLATES');
}

function allVetted(count: number): string {
  return `${String(count)} package names, all vetted; modules and entities: see "websocket"`;
}

/** @param prefixes prefixes of package names; empty for all packages */
async function vettedNames({ packages }: LedgerClient, prefixes: readonly string[]): Promise<ReadonlySet<string>> {
  const vetted = new Set<string>();
  let pageToken: string | undefined;
  do {
    const filter = prefixes.length === 0 ? {} : { packageMetadataFilter: { packageNamePrefixes: prefixes } };
    const page = await packages.vetted(pageToken === undefined ? filter : { ...filter, pageToken });
    for (const { packages: listed } of page.vettedPackages) {
      for (const { packageName } of listed ?? []) vetted.add(packageName ?? '');
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return vetted;
}

/**
 * A warning if a package is vetted but lacks the interface; undefined if all interfaces exist. Presets may name
 * interfaces that do not exist yet.
 */
async function interfacesKnown({ client, config, end }: FilterRequest): Promise<Finding | undefined> {
  const { ledger } = config;
  const named = ledger.wantedInterfaces.filter((name) => !presetNames.includes(name));
  if (named.length === 0) return undefined;
  const at = await end();
  const known = await knownInterfaces(client, ledger, named, at);
  const unknown = named.filter((id) => !known.includes(id));
  if (unknown.length === 0) return undefined;
  const templates = await knownTemplates(client, ledger, unknown, at);
  const sentences = unknown.map((id) => {
    if (templates.includes(id)) return `${id} is a template: move it to LEDGER_TEMPLATES`;
    const nearest = nearestNames(id, interfacesNamed(presetNames));
    return `the participant does not know interface ${id}${nearest.length === 0 ? '' : ` (nearest: ${nearest.join(', ')})`}`;
  });
  return warn(sentences.join('; '), willCome);
}
