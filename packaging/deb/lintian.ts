/** What lintian finds in a package and what stays, each with its reason. */
import type { Engine, Product } from '../products.ts'

interface Override {
  readonly tag: string
  readonly context: string
  readonly reason: string
}

const sameBytes = 'It has the very bytes that its project publishes, so that anyone can compare them.'
const updated = 'Its project builds the library in, and updates both together.'
const built = 'Its project chooses the options of its compiler and linker.'

const ofEngine: Readonly<Record<Engine, readonly Override[]>> = {
  node: [
    { tag: 'unstripped-binary-or-object', context: '', reason: sameBytes },
    { tag: 'embedded-library', context: 'zlib ', reason: updated },
    { tag: 'hardening-no-pie', context: '', reason: built },
  ],
  deno: [
    { tag: 'embedded-library', context: 'lcms2 ', reason: updated },
    { tag: 'hardening-no-relro', context: '', reason: built },
  ],
}

export const overridesOf = ({ name, engines }: Product): string =>
  engines
    .flatMap((engine) =>
      ofEngine[engine].map(
        ({ tag, context, reason }) => `# ${reason}\n${name}: ${tag} ${context}[usr/lib/${name}/${engine}]\n`,
      ),
    )
    .join('')
