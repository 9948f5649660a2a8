/** Lets a version of a container run alone: the one before stops first, and starts again if the other one fails. */
import { inBackground } from '@selvedge/service-kit/safely'
import type { Plan } from '../engines/engine.ts'
import { endInstance, type InstanceParts, type Running, startInstance } from './instances.ts'
import type { Serving } from './serving.ts'
import type { Starts } from './starts.ts'

export interface Alone {
  /** Resolves when an instance may start again; undefined while it may. */
  waiting(): Promise<void> | undefined
  /** Stops the instance that runs, and starts another one. Others wait until `endAfter` or `discard`. @throws what the start throws */
  prepare(plan: Plan): Promise<Running>
  /** Others need not wait any more, once the work has begun: the prepared instance serves. @returns what the work does */
  endAfter(work: () => Promise<void>): Promise<void>
  /** Ends an instance that will not be used. What ran before starts again, if it was stopped for it. Never rejects. */
  discard(prepared: Running): Promise<void>
  /** Instances wait for what is about to stop. */
  waitFor(stopping: Promise<void>): void
}

/** @param drainSeconds for the instance that is replaced to answer its requests */
export function createAlone(
  parts: InstanceParts,
  serving: Serving,
  starts: Starts,
  drainSeconds: number,
): Alone {
  let turn: (PromiseWithResolvers<void> & { readonly wasWanted: boolean }) | undefined

  function end(): void {
    turn?.resolve()
    turn = undefined
  }

  async function giveBack(): Promise<void> {
    if (turn?.wasWanted) {
      starts.want()
      await starts.start().catch(() => undefined)
    }
    end()
  }

  return {
    waiting: () => turn?.promise,
    endAfter(work) {
      const done = work()
      end()
      return done
    },
    async discard(prepared) {
      await endInstance(prepared, 0)
      await giveBack()
    },
    waitFor(stopping) {
      const mine = { ...Promise.withResolvers<void>(), wasWanted: true }
      turn = mine
      const done = stopping.finally(() => {
        mine.resolve()
        if (turn === mine) turn = undefined
      })
      inBackground('containers.waitFor', done)
    },
    async prepare(plan) {
      turn = { ...Promise.withResolvers<void>(), wasWanted: starts.isWanted() }
      starts.cancel()
      const before = serving.release()
      await starts.settled()
      if (before) {
        before.plan.log(
          'runtime',
          'it is stopped before the new version starts: only one of them may use its volumes, devices or ports',
        )
        serving.drain(before, drainSeconds)
      }
      await serving.drained()
      try {
        return await startInstance(parts, plan)
      } catch (cause) {
        await giveBack()
        throw cause
      }
    },
  }
}
