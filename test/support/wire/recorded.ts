/** DARs of other compilers. They are not a part of the project and are next to it, or where the environment says. */
import { join } from 'node:path';

const sharedFolder = join(import.meta.dirname, '../../../../shared');

/** Folder of DARs made by other compilers than the tests' own. */
export const darsFolder = process.env['LEDGER_DARS'] ?? join(sharedFolder, 'dars');
