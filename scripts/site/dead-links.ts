/** Checks a built site: links to missing pages, headings and pictures, and resources of other hosts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

/** Dead links as `page: target`. @param folder folder of the built site @param base path under which it is served */
export function deadLinks(folder: string, base: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
  const pages = new Map(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const anchors = new Map([...pages].map(([name, html]) => [name, valuesOf(html, 'id')]));
  return [...pages].flatMap(([name, html]) => {
    const targets = new Set([...valuesOf(html, 'href'), ...valuesOf(html, 'src')]);
    return [...targets].filter((target) => !isLinkResolved(target, name)).map((target) => `${name}: ${target}`);
  });

  function isLinkResolved(target: string, from: string): boolean {
    if (/^(?:[a-z]+:|\/\/)/.test(target)) return true;
    const [path = '', anchor = ''] = target.split('#');
    const relativePath = path.startsWith(base)
      ? path.slice(base.length)
      : path.startsWith('/')
        ? undefined
        : join(dirname(from), path);
    if (relativePath === undefined) return false;
    const file = path === '' ? from : fileOf(relativePath.replace(/\?.*$/, ''));
    if (file === undefined) return false;
    return anchor === '' || (anchors.get(file)?.has(decodeURIComponent(anchor)) ?? false);
  }

  function fileOf(path: string): string | undefined {
    return [path, `${path}.html`, join(path, 'index.html')].find((name) => pages.has(name) || isFile(name));
  }

  function isFile(name: string): boolean {
    return /\.\w+$/.test(name) && existsSync(join(folder, name));
  }
}

/**
 * Resources that a browser would load from another host, as `file: address`: scripts, pictures, style sheets, fonts.
 */
export function foreignResources(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:html|css)$/.test(name),
  );
  const loads = [
    /\s(?:src|srcset)="((?:https?:)?\/\/[^"]+)"/g,
    /<link\s[^>]*href="((?:https?:)?\/\/[^"]+)"/g,
    /url\((?:['"]|&#39;|&quot;)?((?:https?:)?\/\/[^)'"&]+)/g,
  ];
  return files.flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return loads.flatMap((load) => [...text.matchAll(load)].map(([, address = '']) => `${name}: ${address}`));
  });
}

function valuesOf(html: string, attribute: string): ReadonlySet<string> {
  const linkMatches = html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'));
  return new Set([...linkMatches].map(([, value = '']) => value.replaceAll('&amp;', '&')));
}
