/** How an image is called on the device. */
import { RpcError } from '@selvedge/protocol'

/** What is known of the name of an archive, beside what the archive has in it. */
export interface Naming {
  /** The name that the caller gave it; it counts whatever the archive has. */
  readonly given?: string | undefined
  /** The file that it came in. */
  readonly file?: string | undefined
}

export interface ChosenName {
  readonly name: string
  /** Whether the name follows from the file alone: then it does not replace an image. */
  readonly isFromFile: boolean
}

/** Of an archive without any name. */
const unnamed = 'image'

const endings = new Set(['tar', 'tgz', 'gz', 'zst', 'oci'])

/** @param tags names that the archive has; the first one counts that is a name */
export function chooseName({ given, file = '' }: Naming, tags: readonly string[]): ChosenName {
  const named = given ?? tags.find((tag) => cleanNameOf(tag) !== '')
  if (named !== undefined) return { name: cleanNameOf(named) || unnamed, isFromFile: false }
  const parts = file.split(/[/\\]/).at(-1)!.split('.')
  while (parts.length > 1 && endings.has(parts.at(-1)!.toLowerCase())) parts.pop()
  return { name: cleanNameOf(parts.join('.')) || unnamed, isFromFile: true }
}

/** @throws RpcError `conflict` */
export function expectNotOther(
  name: string,
  existing: { readonly digest: string } | undefined,
  digest: string,
): void {
  if (existing === undefined || existing.digest === digest) return
  throw new RpcError(
    'conflict',
    `the archive has no name; by its file it would be ${JSON.stringify(name)}, which is another image`,
    {
      hint: 'Give a name: the form field "name", "?name=", or "selvedge image deploy --name". An image of that name is replaced.',
    },
  )
}

/** The last part of a repository without its tag, as the API family names images; "" if nothing of it can be in a name. */
function cleanNameOf(tag: string): string {
  const [name = ''] = tag.split('/').at(-1)!.split(/[:@]/, 1)
  const clean = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  return clean.slice(0, 120)
}
