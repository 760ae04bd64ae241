// Packages that an installation contains, from a lock file.
import { readFileSync } from 'node:fs';

/**
 * The run-time packages of one entry of the lock file, in the order of their paths.
 * @param entry '' for the package of the root, otherwise the folder of a workspace
 * @param withOptional whether optional dependencies are installed
 */
export function installedPackages(lockFile, entry = '', withOptional = true) {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'));
  const found = new Map();
  const visit = (path) => {
    const {
      dependencies = {},
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {},
    } = packages[path];
    // npm installs peers too, unless they are optional.
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
    const optional = Object.keys(optionalDependencies);
    const names = [...Object.keys(dependencies), ...peers].filter((name) => !optional.includes(name));
    for (const name of [...names, ...(withOptional ? optional : [])]) {
      const target = resolveFrom(packages, path, name);
      if (target === undefined || found.has(target)) continue;
      found.set(target, packages[target]);
      visit(target);
    }
  };
  visit(entry);
  return [...found]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([path, { version, integrity, license, optional }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      integrity,
      license,
      // Only on some platforms, or only if its installation succeeds.
      isOptional: optional === true,
    }));
}

/** Path of a dependency in the lock file, found as Node finds it. */
function resolveFrom(packages, path, name) {
  for (let folder = path; ;) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (candidate in packages) return candidate;
    if (folder === '') return undefined;
    const outer = folder.lastIndexOf('/node_modules/');
    folder = outer < 0 ? '' : folder.slice(0, outer);
  }
}
