/** What commands refuse before they begin. */
import { ExitCode, IndexerError } from '../errors.ts';

/** Arguments that the command does not take. */
export function misuse(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'USAGE', retry: 'fatal', exitCode: ExitCode.usage, remedy });
}

/** Options that the command cannot work with. */
export function wrong(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'CONFIGURATION_INVALID',
    retry: 'fatal',
    exitCode: ExitCode.configuration,
    remedy,
  });
}

/** Without a database there is nothing to do. @param remedy which one, and as whom */
export function noDatabase(remedy: string): IndexerError {
  return wrong('DATABASE_URL is not set, and no embedded database of this user runs in the folder of data', remedy);
}
