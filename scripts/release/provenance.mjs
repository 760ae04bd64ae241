// The provenance of the files of a release: an in-toto statement with the predicate of SLSA provenance. It is not signed;
// the workflow that publishes the files signs a statement of its own.
import { npmPurl, sha512Of } from './sbom.mjs';

const repository = 'https://github.com/ledger-indexer/ledger-indexer';

/** @param artifacts files with their checksums @param packages npm packages that the build used */
export function provenance({ artifacts, commit, version, base, packages, nodeVersion, npmVersion }) {
  const gitDependency = { uri: `git+${repository}@${commit}`, digest: { gitCommit: commit } };
  const npmDependencies = packages
    .filter(({ integrity }) => integrity !== undefined)
    .map(({ name, version: found, integrity }) => ({
      uri: npmPurl(name, found),
      digest: { sha512: sha512Of(integrity) },
    }));
  const baseDependencies = (base.packages ?? []).map(({ purl, sha256 }) => ({ uri: purl, digest: { sha256 } }));
  const dependencies = new Map(
    [...npmDependencies, ...baseDependencies].map((dependency) => [dependency.uri, dependency]),
  );
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: artifacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/main/scripts/release/README.md`,
        externalParameters: { repository, commit, version },
        internalParameters: { node: nodeVersion, npm: npmVersion, platform: `${process.platform}-${process.arch}` },
        resolvedDependencies: [
          gitDependency,
          ...[...dependencies.values()].toSorted((left, right) => (left.uri < right.uri ? -1 : 1)),
        ],
      },
      runDetails: { builder: { id: builderId() }, metadata: {} },
    },
  };
}

/** The workflow run if there is one, otherwise only that the build was local. */
function builderId() {
  const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow } = process.env;
  if (server !== undefined && workflow !== undefined) return `${server}/${workflow}`;
  return `${repository}/blob/main/scripts/release/README.md#local-build`;
}
