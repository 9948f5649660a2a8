/**
 * Opens a path of the device for a container. Each part of it is opened by itself, below the part before, so that a part that is replaced
 * meanwhile leads nowhere else. A link is followed only where no user but root and that of the runtime could have made it: a container
 * that can write to a folder of the device gives itself nothing by a link in it.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync, type Stats } from 'node:fs'

/** open(2), in the headers of Linux for all processors that the runtime supports. It opens a name, and not what is behind it. */
const O_PATH = 0o10000000
const flags = O_PATH | constants.O_NOFOLLOW
/** Links in one path, as in path_resolution(7). */
const maxLinks = 40

export interface HeldPath {
  /** What the links lead to. */
  readonly path: string
  readonly stats: Stats
  /** A path of this process that leads to exactly what is open. */
  readonly link: string
  close(): void
}

/** Why a path cannot be opened: for a person. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused'
  /** Whether nothing has the name at present. */
  readonly isMissing: boolean
  constructor(message: string, isMissing = false) {
    super(message)
    this.isMissing = isMissing
  }
}

const below = (fd: number, part: string): string => `/proc/self/fd/${fd}/${part}`

/** Whether only root and the user of the runtime change what is in a folder. */
function isTrusted({ uid, mode }: Stats): boolean {
  return (uid === 0 || uid === process.getuid?.()) && (mode & 0o022) === 0
}

/**
 * @param path absolute
 * @param root of a container: then no link is followed
 * @throws PathRefused; always on systems other than Linux, which have no way to a file by an open folder
 */
export const holdPath: (path: string, root?: string) => HeldPath =
  process.platform === 'linux'
    ? holdOnLinux
    : () => {
        throw new PathRefused('containers get paths of the device on Linux only')
      }

function holdOnLinux(path: string, root = '/'): HeldPath {
  let fd = openSync(root, O_PATH)
  const names: string[] = []
  const parts = partsOf(path)
  let links = 0
  const move = (next: number) => {
    closeSync(fd)
    fd = next
  }
  try {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      const next = openPart(fd, part, path)
      const stats = fstatSync(next)
      if (stats.isSymbolicLink()) {
        closeSync(next)
        if (root !== '/') throw new PathRefused(`${path} of the container has a link`)
        if (++links > maxLinks) throw new PathRefused(`${path} has too many links`)
        const target = followed(fd, part, `/${[...names, part].join('/')}`)
        parts.unshift(...partsOf(target))
        if (!target.startsWith('/')) continue
        names.length = 0
        move(openSync('/', O_PATH))
        continue
      }
      move(next)
      if (part === '..') names.pop()
      else names.push(part)
    }
    const held = fd
    return {
      path: `/${names.join('/')}`,
      stats: fstatSync(held),
      link: `/proc/self/fd/${held}`,
      close: () => closeSync(held),
    }
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
}

const partsOf = (path: string): string[] => path.split('/').filter((each) => each !== '' && each !== '.')

function openPart(fd: number, part: string, path: string): number {
  try {
    return openSync(below(fd, part), flags)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new PathRefused(`${path} is not there`, true)
    throw new PathRefused(`${path} cannot be opened: ${code}`)
  }
}

/** The target of a link. No other user changes it between the check and the read. */
function followed(fd: number, part: string, shown: string): string {
  if (!isTrusted(fstatSync(fd)))
    throw new PathRefused(`${shown} is a link, and others than root may change the folder that it is in`)
  return readlinkSync(below(fd, part))
}
