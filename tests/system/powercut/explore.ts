/**
 * Cuts the power at every moment of a recording that matters, and holds each state that may be left to what was promised:
 * the program starts, everything acknowledged is there, nothing is half, and no undamaged file is reported as damaged.
 */
import { createRandom, cutsOf } from './disk/cuts.ts'
import { type Disk, identityOf, type State } from './disk/disk.ts'
import { OrderedDisk } from './disk/ordered.ts'
import { openPlace, type PlaceForStates } from './disk/place.ts'
import { StrictDisk } from './disk/strict.ts'
import { isDurable } from './recorder/record.ts'
import type { Part, PartView, Step, Subject, View, Work } from './subject.ts'

export type Model = 'strict' | 'ordered'

/** Where a state came from. */
interface Origin {
  readonly model: Model
  /** Position in the recording. */
  readonly moment: number
  readonly how: string
}

/** What was found in one state or more; the first one is described. */
export interface Problem extends Origin {
  readonly what: string
  /** States of this kind. */
  readonly count: number
}

export interface Extent {
  /** Different states to open at most; the moments are chosen so that they spread over the recording. */
  readonly states: number
  /** Whole starts among them. */
  readonly starts: number
  /** States by chance at each moment, beside those in order; undefined: only those in which all or nothing is there. */
  readonly byChance: number | undefined
  readonly seed: number
  /** End with the first problem of this kind. */
  readonly until?: RegExp
}

export interface Findings {
  readonly states: number
  readonly starts: number
  readonly moments: number
  readonly acknowledged: number
  readonly problems: readonly Problem[]
}

const disks: Record<Model, () => Disk> = { strict: () => new StrictDisk(), ordered: () => new OrderedDisk() }

export async function explore(subject: Subject, work: Work, extent: Extent): Promise<Findings> {
  const place = await openPlace()
  try {
    return await new Exploration(subject, work, extent, place).run()
  } finally {
    place.remove()
  }
}

/** What reading a part gave: what is in it, or why the program would not start. */
type Reading = PartView | { readonly failure: string }

class Exploration {
  readonly #subject: Subject
  readonly #work: Work
  readonly #extent: Extent
  readonly #place: PlaceForStates
  readonly #seen = new Set<string>()
  readonly #readings = new Map<string, Reading>()
  /** By part, how it was as a whole at the moments so far. */
  readonly #wholes = new Map<string, Set<string>>()
  /** By model and kind. */
  readonly #problems = new Map<string, Problem>()
  #isFound = false
  #starts = 0
  #cuts = 0
  /** States for each moment, on average. */
  #share = 0

  constructor(subject: Subject, work: Work, extent: Extent, place: PlaceForStates) {
    this.#subject = subject
    this.#work = work
    this.#extent = extent
    this.#place = place
  }

  async run(): Promise<Findings> {
    const all = Object.entries(disks).map(([model, make]) => ({ model: model as Model, disk: make() }))
    const { operations } = this.#work.recording
    /** What programs see while the machine runs, also after a sync that failed. */
    const live = new StrictDisk()
    const moments = this.#moments()
    const { begins = 0 } = this.#work
    const chosen = this.#choose(new Set([...moments].filter((at) => at >= begins)))
    this.#share = this.#extent.states / chosen.size
    for (const [at, operation] of operations.entries()) {
      const isAnswer = operation.kind === 'answer'
      // Before a sync most is still to be lost; after an answer most is promised.
      if (isAnswer) for (const { disk } of all) disk.apply(operation)
      if (moments.has(at)) await this.#noteWhole(live)
      if (chosen.has(at)) await this.#cut(all, isAnswer ? operation.at : operation.at - 1, at)
      if (!isAnswer) for (const { disk } of all) disk.apply(operation)
      if (operation.kind !== 'failed sync') live.apply(operation)
      if (this.#isDone()) break
    }
    return {
      states: this.#seen.size,
      starts: this.#starts,
      moments: this.#cuts,
      acknowledged: this.#work.steps.length,
      problems: [...this.#problems.values()],
    }
  }

  #isDone(): boolean {
    return this.#isFound || this.#seen.size >= this.#extent.states
  }

  /** Positions of the syncs, also of those that fail, and of the answers that acknowledge a step. */
  #moments(): Set<number> {
    const answered = new Set(this.#work.steps.map((each) => each.answered))
    const all = [...this.#work.recording.operations.entries()].filter(
      ([, { kind, at }]) =>
        kind === 'sync' || kind === 'failed sync' || (kind === 'answer' && answered.has(at)),
    )
    return new Set(all.map(([position]) => position))
  }

  /** Every n-th of them where there are too many for the extent. */
  #choose(moments: ReadonlySet<number>): Set<number> {
    const room = this.#extent.states / (10 + (this.#extent.byChance ?? 0))
    const step = Math.max(1, moments.size / room)
    const isChosen = (at: number) => Math.floor(at / step) !== Math.floor((at - 1) / step)
    return new Set([...moments].filter((_, at) => isChosen(at)))
  }

  /** What a program finds that was killed, while the machine went on. */
  async #noteWhole(disk: Disk): Promise<void> {
    const state = disk.cut(() => 'kept')
    for (const part of this.#subject.parts) {
      const reading = await this.#readPart(part, state)
      if ('failure' in reading || reading.whole === undefined) continue
      const known = this.#wholes.get(part.name) ?? new Set()
      this.#wholes.set(part.name, known.add(reading.whole))
    }
  }

  /** A part that holds the same bytes as before is not read again. */
  async #readPart(part: Part, state: State): Promise<Reading> {
    const own = (path: string) => isDurable(path) && part.owns(path)
    const identity = `${part.name} ${identityOf(state, own)}`
    const reading = this.#readings.get(identity) ?? (await read(part, this.#place.put(state, own)))
    this.#readings.set(identity, reading)
    return reading
  }

  async #cut(all: readonly { model: Model; disk: Disk }[], moment: number, position: number): Promise<void> {
    // What is left of the share of a moment is for those after it.
    const most = ++this.#cuts * this.#share
    const { seed, byChance } = this.#extent
    const cuts = all.map(({ model, disk }) => ({
      model,
      each: cutsOf(disk, createRandom(seed + position), byChance),
    }))
    while (cuts.length > 0) {
      for (const { model, each } of [...cuts]) {
        const { value, done } = each.next()
        if (done)
          cuts.splice(
            cuts.findIndex((own) => own.each === each),
            1,
          )
        else await this.#judge({ model, moment, how: value.how }, value.state)
        if (this.#isFound || this.#seen.size >= most) return
      }
    }
  }

  async #judge(where: Origin, state: State): Promise<void> {
    const identity = identityOf(state, isDurable)
    const isNew = !this.#seen.has(identity)
    this.#seen.add(identity)
    const view = await this.#read(where, state)
    if (view) this.#check(where, view)
    if (!isNew || !this.#subject.start) return
    const every = this.#extent.states / this.#extent.starts
    if (Math.floor(this.#seen.size / every) === Math.floor((this.#seen.size - 1) / every)) return
    this.#starts++
    const folder = this.#place.put(state, isDurable)
    const own = { ...where, how: `${where.how} (whole program)` }
    for (const what of await this.#subject.start(folder)) this.#complain(own, what)
    const after: Record<string, unknown> = {}
    for (const part of this.#subject.parts) {
      const reading = await read(part, folder)
      if ('failure' in reading) {
        this.#complain(own, `after its start it can't be opened: ${reading.failure}`)
        return
      }
      after[part.name] = reading.facts
    }
    this.#check(own, after)
  }

  async #read(where: Origin, state: State): Promise<View | undefined> {
    const view: Record<string, unknown> = {}
    let isReadable = true
    for (const part of this.#subject.parts) {
      const reading = await this.#readPart(part, state)
      if ('failure' in reading) {
        this.#complain(where, `it does not start: ${reading.failure}`)
        isReadable = false
        continue
      }
      view[part.name] = reading.facts
      for (const alarm of reading.alarms) this.#complain(where, `false alarm: ${alarm}`)
      const { whole } = reading
      if (whole !== undefined && !this.#wholes.get(part.name)?.has(whole))
        this.#complain(where, `half: ${part.name} is as it never was`)
    }
    return isReadable ? view : undefined
  }

  #check(where: Origin, view: View): void {
    for (const what of this.#subject.contradictions(view)) this.#complain(where, `half: ${what}`)
    const last = new Map<string, Step>()
    for (const step of this.#work.steps) if (step.answered <= where.moment) last.set(step.about, step)
    for (const step of last.values()) {
      if (step.isIn(view)) continue
      const mayBe = this.#work.steps.some(
        (each) =>
          each.about === step.about &&
          each.answered > where.moment &&
          each.asked <= where.moment &&
          each.isIn(view),
      )
      if (!mayBe) this.#complain(where, `lost: ${step.what}`)
    }
  }

  #complain(where: Origin, what: string): void {
    if (this.#extent.until?.test(what)) this.#isFound = true
    const kind = `${where.model} ${what.replace(/[0-9a-f]{8,}|\d+/g, '…')}`
    const known = this.#problems.get(kind)
    this.#problems.set(kind, { ...(known ?? { ...where, what }), count: (known?.count ?? 0) + 1 })
  }
}

async function read(part: Part, folder: string): Promise<Reading> {
  const shorten = (text: string) => text.replaceAll(folder, '')
  try {
    const view = await part.read(folder)
    return { ...view, alarms: view.alarms.map(shorten) }
  } catch (cause) {
    return { failure: shorten((cause as Error).message) }
  }
}
