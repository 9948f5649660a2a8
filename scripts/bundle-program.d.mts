/** A plugin of the bundler. */
export interface BundlerPlugin {
  readonly name: string
  transform?(code: string): string | undefined
  generateBundle?(
    options: unknown,
    bundle: Readonly<
      Record<string, { readonly modules?: Readonly<Record<string, { readonly code: string | null }>> }>
    >,
  ): void
}

export function bundleProgram(
  app: 'runtime' | 'identity' | 'discovery' | 'stack' | 'simulator' | 'cli',
  target: string,
  plugins?: readonly BundlerPlugin[],
): Promise<string[]>
