// Refuses `npm publish` in a folder of the project. The workflow publishes files of `npm run release`, for which npm does
// not run this script: they come from a clean clone, and have checksums.
process.stderr.write(
  'publish: only .github/workflows/release.yml publishes; `npm run release -- --dry-run` builds the files\n',
);
process.exit(1);
