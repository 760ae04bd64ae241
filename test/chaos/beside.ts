/**
 * To be imported first: the compiled program looks for its migrations, its page, its version and what it needs of Node beside itself,
 * the last two as soon as it is imported.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';

for (const name of ['migrations', 'src/observe/page/browser', 'package.json', 'scripts/requirements.cjs']) {
  const link = new URL(`../../${name}`, import.meta.url);
  if (existsSync(link)) continue;
  mkdirSync(new URL('.', link), { recursive: true });
  symlinkSync(new URL(`../../../../${name}`, import.meta.url), link);
}
