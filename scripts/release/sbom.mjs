// Lists of components in CycloneDX format. Serial number and time follow from the commit, so that they are always the same.
import { createHash } from 'node:crypto';

/** @param components packages as installedPackages() returns them, or others with their `purl` */
export function sbom({ name, version, type, commit, epoch, packages, others = [] }) {
  const purl = `pkg:npm/${name}@${version}`;
  const components = [...packages.map(npmComponent), ...others.map(otherComponent)].toSorted((left, right) =>
    left.purl < right.purl ? -1 : 1,
  );
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(`${commit} ${type} ${name}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: { 'bom-ref': purl, type, name, version, purl, licenses: licensesOf(['Apache-2.0']) },
    },
    components,
    dependencies: [{ ref: purl, dependsOn: components.map((component) => component['bom-ref']) }],
  };
}

function npmComponent({ name, version, integrity, license, isOptional }) {
  const purl = npmPurl(name, version);
  return {
    'bom-ref': purl,
    type: 'library',
    name,
    version,
    scope: isOptional ? 'optional' : 'required',
    purl,
    ...(license === undefined ? {} : { licenses: licensesOf([license]) }),
    ...(integrity === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: sha512Of(integrity) }] }),
  };
}

function otherComponent({ type, name, version, purl, sha256, licenses }) {
  return {
    'bom-ref': purl,
    type,
    name,
    ...(version === undefined ? {} : { version }),
    purl,
    ...(licenses === undefined ? {} : { licenses: licensesOf(licenses) }),
    hashes: [{ alg: 'SHA-256', content: sha256 }],
  };
}

export function npmPurl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** Hex of the hash in a lock file. */
export function sha512Of(integrity) {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}

function licensesOf(licenses) {
  return licenses.map((text) => (/[ ()]/.test(text) ? { expression: text } : { license: { id: text } }));
}

function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
