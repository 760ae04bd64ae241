/**
 * Assembles a page from the files of the folder `packages/page/src`, which the npm package includes unchanged, as
 * one document that loads no other file. Its security policy allows only its own style and script, by their hashes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export interface PageDocument {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Names of files in the folder of the pages. */
export interface PageParts {
  readonly page: string;
  /** Later files override, or need, earlier ones. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  /** A library for browsers, by paths of files in its package: a script that defines one name, and a style sheet. */
  readonly library?: { readonly script: string; readonly style: string };
}

const folder = new URL('../../../packages/page/src/', import.meta.url);

/** Reads and joins the files. */
export function loadDocument({ page, styles, scripts, library }: PageParts): PageDocument {
  const style = [...(library === undefined ? [] : [readLibrary(library.style)]), ...styles.map(readAsset)].join('\n');
  const parts = scripts.map((name) => inlineModule(readAsset(name)));
  const script = ["'use strict';", ...(library === undefined ? [] : [readLibrary(library.script)]), ...parts].join(
    '\n',
  );
  // The replacements are functions, because dollar signs in a string would be interpreted.
  const html = readAsset(page)
    .replace(/<style>[^<]*<\/style>/, () => `<style>${style}</style>`)
    .replace(/<script>[^<]*<\/script>/, () => `<script>${script}</script>`);
  return {
    html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': policy(style, script),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  };
}

function readAsset(name: string): string {
  return readFileSync(new URL(name, folder), 'utf8');
}

/** The build copies libraries next to the compiled program. Without a build, the packages are installed. */
function readLibrary(name: string): string {
  const copy = new URL(`../../vendor/${name}`, import.meta.url);
  return readFileSync(existsSync(copy) ? copy : createRequire(import.meta.url).resolve(name), 'utf8');
}

/** A module as part of one script, in which all modules share one scope. */
function inlineModule(module: string): string {
  return module.replaceAll(/^import [^;]*;\n/gm, '').replaceAll(/^export /gm, '');
}

function policy(style: string, script: string): string {
  return [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
