/**
 * To be imported first: the compiled program looks for its migrations, its page and its version beside itself, the last
 * of them as soon as it is imported.
 */
import { existsSync, symlinkSync } from 'node:fs';

for (const name of ['migrations', 'src/page', 'package.json']) {
  const link = new URL(`../../${name}`, import.meta.url);
  if (!existsSync(link)) symlinkSync(new URL(`../../../../${name}`, import.meta.url), link);
}
