/** OCI images of busybox that serve what a shell script prints, under `/cgi-bin/run`. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { savedImage, type TarEntry, tarOf } from './archives.ts'

const busybox = '/bin/busybox'

export interface CgiImage {
  readonly name: string
  /** Lines of a shell script. */
  readonly script: string
  readonly files?: readonly TarEntry[]
  /** More members of the image configuration. */
  readonly config?: object
  /** Layers around the one with the files. */
  readonly around?: { readonly below: readonly Buffer[]; readonly above: readonly Buffer[] }
}

const nothing = { below: [], above: [] }

export function cgiImage({ name, script, files = [], config = {}, around = nothing }: CgiImage): Buffer {
  const all: TarEntry[] = [
    { path: 'bin', type: 'Directory' },
    { path: 'bin/busybox', content: readFileSync(busybox) },
    { path: 'bin/sh', type: 'SymbolicLink', linkpath: 'busybox' },
    { path: 'data', type: 'Directory' },
    { path: 'tmp', type: 'Directory' },
    { path: 'www/cgi-bin', type: 'Directory' },
    {
      path: 'www/cgi-bin/run',
      content: `#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\n${script}\n`,
      mode: 0o755,
    },
    { path: 'www/index.html', content: name },
    ...files,
  ]
  return savedImage({
    name,
    layers: [...around.below, tarOf(all), ...around.above],
    config: {
      Cmd: ['/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', '/www'],
      ExposedPorts: { '8080/tcp': {} },
      ...config,
    },
  })
}

/** An image that serves what the shell script prints that it is sent: one image for many attempts. */
export const shellImage = (image: Omit<CgiImage, 'script'>): Buffer =>
  cgiImage({ ...image, script: 'eval "$(/bin/busybox cat)"' })

/**
 * A static program that passes standard input to a Unix socket, and what comes back to standard output: what curl --unix-socket
 * does, in one file. Compiled once for each test file. Needs gcc.
 */
export function unixcat(): Buffer {
  compiled ??= compileUnixcat()
  return compiled
}

let compiled: Buffer | undefined

function compileUnixcat(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'unixcat-'))
  const source = `#include <sys/socket.h>
#include <sys/un.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **v) {
  struct sockaddr_un a = { .sun_family = AF_UNIX };
  strncpy(a.sun_path, v[1], sizeof a.sun_path - 1);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(s, (void *)&a, sizeof a)) { perror("connect"); return 1; }
  char b[65536]; long r;
  while ((r = read(0, b, sizeof b)) > 0) if (write(s, b, r) != r) return 1;
  while ((r = read(s, b, sizeof b)) > 0) if (write(1, b, r) != r) return 1;
  return 0;
}`
  try {
    writeFileSync(join(folder, 'unixcat.c'), source)
    execFileSync('gcc', ['-static', '-O2', '-o', 'unixcat', 'unixcat.c'], { cwd: folder })
    return readFileSync(join(folder, 'unixcat'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
