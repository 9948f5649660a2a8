/** As much of Deno's API as the host program uses. */
export interface DenoConnection {
  read(buffer: Uint8Array): Promise<number | null>
  write(bytes: Uint8Array): Promise<number>
  close(): void
}

export interface DenoServer {
  shutdown(): Promise<void>
}

interface DenoApi {
  readonly args: readonly string[]
  readonly permissions: {
    revoke(
      permission: { name: 'read' | 'write'; path: string } | { name: 'net'; host: string },
    ): Promise<unknown>
  }
  connect(options: { transport: 'unix'; path: string }): Promise<DenoConnection>
  serve(
    options: { path: string; onListen: () => void; onError: (cause: unknown) => Response },
    handler: (request: Request) => Promise<Response>,
  ): DenoServer
  upgradeWebSocket(request: Request): { readonly socket: WebSocket; readonly response: Response }
  createHttpClient(options: { proxy: { transport: 'unix'; path: string } }): unknown
  exit(code: number): never
}

/** A copy: the function finds the same object on the global one, and may change it. */
export const deno: DenoApi = { ...(globalThis as unknown as { Deno: DenoApi }).Deno }
