/** Help and completion do not import packages. They load the file of every command, but not its dependencies. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Modules that a file imports when it is loaded. Type imports and dynamic imports are not included. */
function imports(file: string): readonly string[] {
  const statements = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s+(?!type\b)([^;]*?)\bfrom\s+'([^']+)'/gm);
  return [...statements].flatMap(([, names = '', target = '']) =>
    names.replaceAll(/[{}\s]|\btype\s+\w+(?:\s+as\s+\w+)?\s*,?/g, '') === '' ? [] : [target],
  );
}

it('modules loaded before a command runs import no npm packages', () => {
  const loadedModules = new Set(['src/program.ts', 'src/cli/commands.ts'].map((file) => join(root, file)));
  const packages: string[] = [];
  for (const file of loadedModules) {
    for (const target of imports(file)) {
      if (target.startsWith('.')) loadedModules.add(join(dirname(file), target));
      else if (!target.startsWith('node:')) packages.push(`${relative(root, file)} imports ${target}`);
    }
  }
  expect(loadedModules).toContain(join(root, 'src/cli/maintain/prune.ts'));
  expect(packages).toEqual([]);
});
