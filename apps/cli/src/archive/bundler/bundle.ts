/** Bundles a function into one file, with rolldown. It runs in a process of its own: `main.ts`. */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { OutputChunk, Plugin, RolldownBuild } from 'rolldown'
import {
  absentModule,
  isNativeLoader,
  mayBeAbsent,
  nativeModule,
  packageOfFile,
  sourceInPlace,
} from './absent.ts'
import type { BuildLimits } from './limits.ts'
import { isNativePackage } from './native-package.ts'
import { collectNodeModules, type NodeModules, nodeModuleInScript, requireOfNode } from './node-modules.ts'
import { createNodeVariants, type NodeVariants, readChosenPackages } from './node-variants.ts'
import { collectOwnFiles, type OwnFiles, placeDefinitions } from './own-files.ts'
import { createPolicy, native } from './policy.ts'
import { codeFrame, type Problem, placeOf } from './problem.ts'

export interface Bundled {
  readonly code: string
  /** Paths of the modules. */
  readonly files: readonly string[]
  readonly warnings: readonly Problem[]
}

export class BuildFailure extends Error {
  readonly problem: Problem
  /** A package with a variant for browsers that may have caused it: it imports what is not installed, or lacks an export. */
  readonly lacking: string | undefined
  constructor(problem: Problem, lacking?: string) {
    super(problem.text)
    this.problem = problem
    this.lacking = lacking
  }
}

type Rolldown = Pick<typeof import('rolldown'), 'rolldown'>

/**
 * @param folder of the function
 * @param entry path from the folder
 * @throws BuildFailure
 */
export async function bundleFunction(
  { rolldown }: Rolldown,
  folder: string,
  entry: string,
  limits: SourceLimits,
): Promise<Bundled> {
  const own = realpathSync(folder)
  const variants = createNodeVariants(chosenPackages(own))
  for (;;) {
    try {
      return await buildOnce(rolldown, own, entry, limits, variants)
    } catch (cause) {
      const { lacking } = cause as BuildFailure
      if (lacking === undefined || !variants.add(lacking)) throw cause
    }
  }
}

type SourceLimits = Omit<BuildLimits, 'timeoutMs' | 'memoryBytes'>

function chosenPackages(own: string): readonly string[] {
  try {
    return readChosenPackages(own)
  } catch (cause) {
    throw new BuildFailure({ text: (cause as Error).message, file: 'package.json' })
  }
}

async function buildOnce(
  rolldown: Rolldown['rolldown'],
  own: string,
  entry: string,
  limits: SourceLimits,
  variants: NodeVariants,
): Promise<Bundled> {
  const modules = collectModules(own, limits, variants)
  const nodeModules = collectNodeModules()
  const ownFiles = collectOwnFiles(
    own,
    (text, importer) => new BuildFailure({ text, file: relative(own, importer) }),
  )
  const warnings: Problem[] = []
  let build: RolldownBuild | undefined
  try {
    build = await rolldown({
      input: join(own, entry),
      cwd: own,
      // Of two ways that a package has, that of browsers needs no files, processes and sockets.
      platform: 'browser',
      resolve: { conditionNames: ['worker', 'browser', 'module', 'default'] },
      transform: { define: { 'process.env.NODE_ENV': '"production"', ...placeDefinitions } },
      plugins: [nodeModules.plugin, modules.plugin, ownFiles.plugin],
      onLog(_, { code, message, loc }) {
        if (code === 'UNRESOLVED_IMPORT' || code === 'EVAL') return
        if (warnings.length < 20) warnings.push({ text: plain(message), ...relativePlace(own, loc) })
      },
    })
    const chunk = await generate(build, own, entry, nodeModules, ownFiles)
    const refused = modules.refused()
    if (refused) throw refused
    return { code: withMap(chunk, limits.mapChars), files: [...modules.files], warnings }
  } catch (cause) {
    const refused = modules.refused()
    throw refused ?? asFailure(cause, own, modules.files)
  } finally {
    await build?.close()
  }
}

/** A plugin that checks each import and each file, and what it has found. */
function collectModules(own: string, limits: SourceLimits, variants: NodeVariants) {
  const policy = createPolicy(own)
  const files = new Set<string>()
  /** Packages that the files of the function import. */
  const direct = new Set<string>()
  let sourceBytes = 0
  let refused: BuildFailure | undefined
  const refuse = (why: string, specifier: string, importer: string, lacking?: string) => {
    refused ??= new BuildFailure(importProblem(own, fileOf(importer), specifier, why), lacking)
    return { id: specifier, external: true } as const
  }
  const plugin: Plugin = {
    name: 'selvedge',
    async resolveId(specifier, importer, { isEntry, kind }) {
      if (isEntry || importer === undefined) return null
      const from = packageOfFile(importer)
      if (isNativeLoader(specifier)) {
        // What the function imports itself is refused here, and not when it is used.
        if (from === undefined || direct.has(from))
          return refuse(native(from ?? specifier), specifier, importer)
        return nativeModule(specifier)
      }
      const why = policy.refuse(specifier)
      if (why !== undefined) return refuse(why, specifier, importer)
      const asNode = variants.resolve(specifier, importer)
      const found =
        asNode === undefined
          ? await this.resolve(specifier, importer, { kind, skipSelf: true })
          : { id: asNode }
      if (!found || ('external' in found && found.external)) {
        if (mayBeAbsent(kind, importer)) return absentModule(specifier)
        return refuse(missing(specifier), specifier, importer, from)
      }
      if (isEmpty(found.id)) return found
      const to = packageOfFile(found.id)
      if (from === undefined && to !== undefined && !direct.has(to)) {
        if (isNativePackage(fileOf(found.id), to)) return refuse(native(to), specifier, importer)
        direct.add(to)
      }
      const whyFile = policy.refuseFile(fileOf(found.id), specifier)
      return whyFile === undefined ? found : refuse(whyFile, specifier, importer)
    },
    load(id) {
      const inPlace = sourceInPlace(id)
      if (inPlace !== undefined) return inPlace
      if (isEmpty(id)) return null
      const path = fileOf(id)
      sourceBytes += statSync(path).size
      files.add(path)
      if (files.size > limits.modules)
        throw new BuildFailure({ text: `the function has more than ${limits.modules} modules` })
      if (sourceBytes > limits.sourceBytes)
        throw new BuildFailure({
          text: `the modules of the function have more than ${limits.sourceBytes} bytes`,
        })
      return null
    },
  }
  return { plugin, files, refused: () => refused }
}

/** A module of the bundler, or one that a package replaces with an empty one for browsers. */
const isEmpty = (id: string): boolean => id.startsWith('\0') || id.startsWith('(ignored)')

/** The path of a module: an import may end with a query. */
const fileOf = (id: string): string => (id.includes('?') ? id.slice(0, id.lastIndexOf('?')) : id)

const missing = (specifier: string): string =>
  /^\.{0,2}\//.test(specifier)
    ? 'there is no such file'
    : 'there is no such package: install it with npm in the folder of the function'

function importProblem(own: string, importer: string, specifier: string, why: string): Problem {
  const text = `cannot import ${JSON.stringify(specifier)}: ${why}`
  const source = readFileSync(importer, 'utf8')
  const place = placeOf(source, specifier)
  const file = relative(own, importer)
  return place ? { text, file, ...place, frame: codeFrame(source, place.line, place.column) } : { text, file }
}

/** An ES module if the entry exports a worker or is a program with a server, otherwise a script: handlers are scripts. */
async function generate(
  build: RolldownBuild,
  own: string,
  entry: string,
  nodeModules: NodeModules,
  ownFiles: OwnFiles,
): Promise<OutputChunk> {
  const output = async (format: 'esm' | 'iife') => {
    const { output } = await build.generate({
      format,
      name: 'selvedgeEntry',
      exports: 'auto',
      codeSplitting: false,
      globals: nodeModuleInScript,
      // Known when the modules have been read.
      intro: () =>
        [nodeModules.isRequired() ? requireOfNode : '', ownFiles.prelude()].filter(Boolean).join('\n'),
      sourcemap: 'hidden',
      // The map contains names and positions, not the source code.
      sourcemapExcludeSources: true,
      sourcemapPathTransform: (path, map) => relative(own, resolve(dirname(map), path)),
    })
    return output[0]
  }
  const module = await output('esm')
  if (module.exports.includes('default')) return module
  if (module.code.includes('mimikModule')) return output('iife')
  if (!mayListen(module.code))
    throw new BuildFailure({
      text: 'the function has no entry: export a worker (export default { fetch(request, env, ctx) { … } }), set a handler (mimikModule.exports = (context, request, response) => …), or let an http.Server listen',
      file: entry,
    })
  return module
}

/** Whether it may be a program for `node:http` with a server that listens, which is found out when it runs. */
const mayListen = (code: string): boolean => code.includes('node:http') && /\blisten\b/.test(code)

function withMap({ code, map }: OutputChunk, maxChars: number): string {
  const text = map === null ? '' : JSON.stringify({ ...map, file: undefined })
  if (text === '' || text.length > maxChars) return code
  const base64 = Buffer.from(text).toString('base64')
  return `${code.trimEnd()}\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,${base64}\n`
}

/** The first line of a message of the bundler, without its code. */
const plain = (message: string): string => message.replace(/^\[[A-Z_]+\] /, '').split('\n', 1)[0]!

interface BundlerError {
  readonly message: string
  /** The file that lacks an export. */
  readonly exporter?: string
  readonly id?: string
  readonly loc?: Place | undefined
  readonly cause?: unknown
}

interface Place {
  readonly file?: string
  readonly line: number
  readonly column: number
}

/** @param files modules that were allowed: only their lines are shown */
function asFailure(cause: unknown, own: string, files: ReadonlySet<string>): BuildFailure {
  if (cause instanceof BuildFailure) return cause
  const [first] = (cause as { errors?: readonly BundlerError[] }).errors ?? []
  if (first?.cause instanceof BuildFailure) return first.cause
  const error = first ?? (cause as BundlerError)
  const { loc } = error
  const place = relativePlace(own, loc)
  const text = plain(error.message)
  const lacking = error.exporter === undefined ? undefined : packageOfFile(error.exporter)
  if (!loc?.file || !files.has(loc.file)) return new BuildFailure({ text, ...place }, lacking)
  const frame = codeFrame(readFileSync(loc.file, 'utf8'), loc.line, loc.column + 1)
  return new BuildFailure({ text, ...place, frame }, lacking)
}

/** Columns of the bundler are from 0. */
const relativePlace = (own: string, loc: Place | undefined) =>
  loc?.file ? { file: relative(own, loc.file), line: loc.line, column: loc.column + 1 } : {}
