/** Opens a lake by name: a folder, or `s3://BUCKET/PREFIX`, with credentials from the usual variables of S3 clients. */
import { LakeError } from '../errors/lake-error.ts';
import type { LakeStorage, OnOperation } from './lake-storage.ts';

/** Environment variables of the process. */
export type Env = Readonly<Record<string, string | undefined>>;

/** @throws LakeError USAGE if the name is not that of a bucket, or there are no credentials for it */
export async function openLake(to: string, env: Env, onOperation?: OnOperation): Promise<LakeStorage> {
  if (!to.startsWith('s3://')) {
    if (/^[a-z][a-z\d+.-]*:\/\//i.test(to))
      throw invalidLocation(`"${to.slice(0, 80)}" is neither a folder nor s3://BUCKET/PREFIX`);
    const { LakeFolder } = await import('./lake-folder.ts');
    return new LakeFolder(to, onOperation);
  }
  const bucketMatch = /^s3:\/\/([a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/+(.*?))?\/*$/.exec(to);
  if (bucketMatch === null) throw invalidLocation(`"${to.slice(0, 80)}" is not s3://BUCKET/PREFIX`);
  const [, bucket = '', prefix = ''] = bucketMatch;
  const { BucketClient } = await import('./bucket-client.ts');
  const { LakeBucket } = await import('./lake-bucket.ts');
  return new LakeBucket(to, new BucketClient(bucket, accessOf(env)), prefix, onOperation);
}

function accessOf(env: Env) {
  const readVariable = (...names: readonly string[]): string | undefined =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  const accessKeyId = readVariable('AWS_ACCESS_KEY_ID');
  const secretAccessKey = readVariable('AWS_SECRET_ACCESS_KEY');
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw invalidLocation('a bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  const region = readVariable('AWS_REGION', 'AWS_DEFAULT_REGION') ?? 'us-east-1';
  const endpoint = readVariable('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL') ?? `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint))
    throw invalidLocation(`AWS_ENDPOINT_URL is not an http or https URL: "${endpoint.slice(0, 80)}"`);
  const sessionToken = readVariable('AWS_SESSION_TOKEN');
  return { endpoint: endpoint.replace(/\/+$/, ''), region, accessKeyId, secretAccessKey, sessionToken };
}

function invalidLocation(problem: string): LakeError {
  const remedy = 'run `ledger-indexer export --to s3://bucket/lake` with the AWS_… variables for the bucket';
  return new LakeError(problem, { code: 'USAGE', remedy });
}
