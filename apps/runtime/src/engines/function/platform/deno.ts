/** As much of Deno's API as the host program uses. */
interface DenoConnection {
  readonly readable: ReadableStream<Uint8Array>
  write(bytes: Uint8Array): Promise<number>
}

interface DenoApi {
  readonly args: readonly string[]
  connect(options: { transport: 'unix'; path: string }): Promise<DenoConnection>
  serve(
    options: { path: string; onListen: () => void; onError: (cause: unknown) => Response },
    handler: (request: Request) => Promise<Response>,
  ): { shutdown(): Promise<void> }
  createHttpClient(options: { proxy: { transport: 'unix'; path: string } }): unknown
  exit(code: number): never
}

export const deno = (globalThis as unknown as { Deno: DenoApi }).Deno
