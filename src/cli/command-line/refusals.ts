/** What commands refuse before they begin. */
import { IndexerError } from '../../errors/indexer-error.ts';

/** Arguments that the command does not take. */
export function misuse(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'USAGE', remedy });
}

/** Options that the command cannot work with. */
export function wrong(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'CONFIGURATION_INVALID',
    remedy,
  });
}

/** Without a database there is nothing to do. @param remedy which one, and as whom */
export function noDatabase(remedy: string): IndexerError {
  return wrong('DATABASE_URL is not set, and no embedded database of this user runs in the folder of data', remedy);
}
