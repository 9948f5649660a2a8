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
  /** What the name is from; a name that the caller did not give replaces no image of another origin. */
  readonly from: 'caller' | 'tag' | 'file'
}

/** Of an archive without any name. */
const unnamed = 'image'

const endings = new Set(['tar', 'tgz', 'gz', 'zst', 'oci'])

/** @param tags names that the archive has; the first one counts that is a name */
export function chooseName({ given, file = '' }: Naming, tags: readonly string[]): ChosenName {
  if (given !== undefined) return { name: cleanNameOf(given) || unnamed, from: 'caller' }
  const tag = tags.find((each) => cleanNameOf(each) !== '')
  if (tag !== undefined) return { name: cleanNameOf(tag), from: 'tag' }
  const parts = file.split(/[/\\]/).at(-1)!.split('.')
  while (parts.length > 1 && endings.has(parts.at(-1)!.toLowerCase())) parts.pop()
  return { name: cleanNameOf(parts.join('.')) || unnamed, from: 'file' }
}

interface Known {
  readonly digest: string
  readonly repoTags: readonly string[]
}

/**
 * Whether an image may have a name: one that the caller did not give replaces no image but of the same repository.
 *
 * @param existing what has the name now
 * @throws RpcError `conflict`
 */
export function expectNotOther(
  { name, from }: ChosenName,
  existing: Known | undefined,
  { digest, repoTags }: Known,
): void {
  if (from === 'caller' || existing === undefined || existing.digest === digest) return
  const shown = JSON.stringify(name)
  const [own, other] = [repositoryOf(repoTags), repositoryOf(existing.repoTags)]
  if (from === 'tag' && (other === undefined || own === other)) return
  const problem =
    from === 'file'
      ? `the archive has no name; by its file it would be ${shown}, which is another image`
      : `the image ${shown} of this device is ${JSON.stringify(other)}, and this one is ${JSON.stringify(own)}`
  throw new RpcError('conflict', problem, {
    hint: 'Give a name: the form field "name", "?name=", or "selvedge image deploy --name". An image of that name is replaced.',
  })
}

/** The repository of the tag that names an image, as Docker completes it; undefined without such a tag. */
function repositoryOf(tags: readonly string[]): string | undefined {
  const tag = tags.find((each) => cleanNameOf(each) !== '')
  if (tag === undefined) return undefined
  const repository = tag.replace(/@.*$/s, '').replace(/:[^/:]*$/, '')
  // Images that were built on a machine have no registry, or this one.
  return repository.replace(/^(?:localhost|docker\.io)\//, '').replace(/^library\//, '')
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
