/** The receiver in docs/how-to/integrate/webhooks.md, unchanged. */
import { blocksOf, pages } from '../docs/pages.ts';

interface Example {
  /** @throws if the signature is not from the indexer */
  readonly received: (body: string, headers: object) => unknown;
}

/** Imports the receiver as a separate module for each secret, with the package of this project. */
export async function exampleWith(secret: string): Promise<Example> {
  const [block] = pages()
    .filter(({ path }) => path === 'docs/how-to/integrate/webhooks.md')
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'js');
  const text = block?.text.replace("'standardwebhooks'", `'${import.meta.resolve('standardwebhooks')}'`) ?? '';
  process.env['WEBHOOK_SECRET'] = secret;
  return (await import(`data:text/javascript,${encodeURIComponent(text)}#${encodeURIComponent(secret)}`)) as Example;
}
