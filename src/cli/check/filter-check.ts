/** Checks whether the participant has the templates of LEDGER_TEMPLATES and the interfaces of LEDGER_INTERFACES. */
import type { Config } from '../../config/config.ts';
import { interfacesNamed, presetNames } from '../../config/interface-presets.ts';
import { nearestNames } from '../../errors/nearest-names.ts';
import type { LedgerClient } from '../../ledger/api/client.ts';
import { findKnownInterfaces, findKnownTemplates } from '../../ledger/api/known-interfaces.ts';
import { fail, type Finding, pass, warn } from './outcome.ts';

interface FilterRequest {
  readonly client: LedgerClient;
  readonly config: Config;
  readonly end: () => Promise<number>;
}

const futurePackageRemedy =
  'no action needed if the package will be uploaded: its interfaces are read then. Otherwise, correct LEDGER_INTERFACES';

/**
 * Checks whether a vetted package has the package name of each template and interface. Missing interfaces are not a
 * failure, because they may be uploaded later.
 */
export async function checkFilterNames(context: FilterRequest): Promise<Finding> {
  const { templates, wantedInterfaces } = context.config.ledger;
  const namesOf = (ids: readonly string[]): readonly string[] => ids.map((id) => id.slice(1, id.indexOf(':')));
  const requiredNames = new Set(namesOf(templates));
  const names = new Set([...requiredNames, ...namesOf(interfacesNamed(wantedInterfaces))]);
  if (names.size === 0) return pass('all templates: LEDGER_TEMPLATES and LEDGER_INTERFACES are empty');
  const vettedPackages = await vettedNames(context.client, [...names]);
  const namesNotVetted = [...names].filter((name) => !vettedPackages.has(name));
  if (namesNotVetted.length === 0) return (await checkInterfaces(context)) ?? pass(allVettedMessage(names.size));
  const message = `there is no vetted package ${namesNotVetted.join(', ')}`;
  const hasOnlyPresets = wantedInterfaces.every((name) => presetNames.includes(name));
  const isRequired = namesNotVetted.some((name) => requiredNames.has(name));
  if (!isRequired && hasOnlyPresets) return pass(`${message}: its interfaces are read when it is uploaded`);
  const allVettedNames = await vettedNames(context.client, []);
  const suggestions = [...new Set(namesNotVetted.flatMap((name) => nearestNames(name, allVettedNames)))];
  const messageWithHint = `${message}${suggestions.length === 0 ? '' : ` (nearest: ${suggestions.join(', ')})`}`;
  if (!isRequired) return warn(messageWithHint, futurePackageRemedy);
  return fail(messageWithHint, 'upload it: ledger-indexer ledger upload-dar FILE; or correct LEDGER_TEMPLATES');
}

function allVettedMessage(count: number): string {
  return `${String(count)} package names, all vetted; modules and entities: see "websocket"`;
}

/** @param prefixes prefixes of package names; empty for all packages */
async function vettedNames({ packages }: LedgerClient, prefixes: readonly string[]): Promise<ReadonlySet<string>> {
  const packageNames = new Set<string>();
  let pageToken: string | undefined;
  do {
    const filter = prefixes.length === 0 ? {} : { packageMetadataFilter: { packageNamePrefixes: prefixes } };
    const page = await packages.vetted(pageToken === undefined ? filter : { ...filter, pageToken });
    for (const { packages: vettedGroup } of page.vettedPackages) {
      for (const { packageName } of vettedGroup ?? []) packageNames.add(packageName ?? '');
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return packageNames;
}

/**
 * A warning if a package is vetted but lacks the interface; undefined if all interfaces exist. Presets may name
 * interfaces that do not exist yet.
 */
async function checkInterfaces({ client, config, end }: FilterRequest): Promise<Finding | undefined> {
  const { ledger } = config;
  const interfaceIds = ledger.wantedInterfaces.filter((name) => !presetNames.includes(name));
  if (interfaceIds.length === 0) return undefined;
  const offset = await end();
  const knownIds = await findKnownInterfaces(client, ledger, interfaceIds, offset);
  const unknownIds = interfaceIds.filter((id) => !knownIds.includes(id));
  if (unknownIds.length === 0) return undefined;
  const templates = await findKnownTemplates(client, ledger, unknownIds, offset);
  const sentences = unknownIds.map((id) => {
    if (templates.includes(id)) return `${id} is a template: move it to LEDGER_TEMPLATES`;
    const suggestions = nearestNames(id, interfacesNamed(presetNames));
    return `the participant does not know interface ${id}${suggestions.length === 0 ? '' : ` (nearest: ${suggestions.join(', ')})`}`;
  });
  return warn(sentences.join('; '), futurePackageRemedy);
}
