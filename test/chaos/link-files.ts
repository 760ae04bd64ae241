/**
 * This file must be imported first. The compiled program expects its migrations, its page, its version and its
 * requirements of Node in its own folder, and reads the last two as soon as it is imported.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';

for (const name of ['migrations', 'packages/page/src', 'package.json', 'scripts/requirements.cjs']) {
  const link = new URL(`../../${name}`, import.meta.url);
  if (existsSync(link)) continue;
  mkdirSync(new URL('.', link), { recursive: true });
  symlinkSync(new URL(`../../../../${name}`, import.meta.url), link);
}
