import type { Server } from 'node:http'

/**
 * Listens on a path. The socket has its mode from the start, by umask: `chmod` would follow what another user may have put in its
 * place, where the folder is not this user's alone.
 *
 * @param mode permissions of the socket, such as 0o660
 * @throws NodeJS.ErrnoException
 */
export function bindUnix(server: Server, path: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const before = process.umask(0o777 & ~mode)
    // Binds before it returns. Other threads name the mode of each file that they make.
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
    process.umask(before)
  })
}
