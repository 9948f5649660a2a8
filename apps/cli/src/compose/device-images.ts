/** Which image of the device the reference of a Compose file means, and how one that is fetched for it is named. */
import { hash } from 'node:crypto'
import type { ImageRecord } from '@selvedge/protocol'

/** Characters of a name on the device. */
const maxName = 120
const hashCharacters = 12

/**
 * A reference in the form that records of images have: with its registry, its namespace and its tag, or the first characters of its digest.
 */
export function fullReference(text: string): string {
  const [name = '', digest] = text.split('@')
  const parts = name.split('/')
  const isRegistry = parts.length > 1 && (/[.:]/.test(parts[0]!) || parts[0] === 'localhost')
  const registry = isRegistry ? parts.shift()! : 'docker.io'
  const [last = '', tag] = parts.pop()!.split(':')
  const path = [...parts, last].join('/')
  const repository = registry === 'docker.io' && parts.length === 0 ? `library/${path}` : path
  return `${registry}/${repository}:${tag ?? (digest ? digest.slice(7, 7 + hashCharacters) : 'latest')}`
}

/**
 * The name under which a device stores what is fetched for a reference. Two versions of one image have two names: members of an app may
 * need both.
 */
export function imageNameOf(text: string): string {
  const full = fullReference(text)
  const plain = full
    .replace(/^docker\.io\/(?:library\/)?/, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  if (plain !== '' && plain.length <= maxName) return plain
  return `${plain.slice(0, maxName - hashCharacters - 1)}-${hash('sha256', full, 'hex').slice(0, hashCharacters)}`.replace(
    /^-/,
    '',
  )
}

/**
 * The image of the device with an ID or a name, or one that has the reference: because it was fetched by it, or in the archive that was
 * deployed. Archives have tags as they were built: `shop:1` of Docker, and `localhost/shop:1` of Podman.
 */
export function imageOnDevice(images: readonly ImageRecord[], text: string): ImageRecord | undefined {
  const withTag = (reference: string) =>
    images.find(({ repoTags }) => repoTags.some((tag) => fullReference(tag) === fullReference(reference)))
  return (
    images.find(({ id, name }) => id === text || name === text) ??
    withTag(text) ??
    (text.includes('/') ? undefined : withTag(`localhost/${text}`))
  )
}
