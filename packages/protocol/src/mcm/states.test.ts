import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { containerRecord } from './records.ts'
import { containerStates, countStates, describeState } from './states.ts'

const guide = readFileSync(new URL('../../../../docs/services.md', import.meta.url), 'utf8')

it.each(['running', 'starting', 'paused', 'stopped', 'completed', 'failed'])(
  'the API and the guide describe %s with the same sentence',
  (state) => {
    const { meaning } = describeState(state)
    expect(containerRecord.shape.state.description).toContain(`\`${state}\`: ${meaning}`)
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${state}\``))
    expect(row).toContain(meaning)
  },
)

it('a running and a paused service answer requests, and no other', () => {
  expect(containerStates.filter((state) => describeState(state).isServing)).toEqual(['running', 'paused'])
})

it.each(['sleeping', 'toString', ''])('the unknown state %j has no meaning', (state) => {
  expect(describeState(state)).toEqual({ meaning: '', isServing: false })
})

it('counts of states have the most frequent one first', () => {
  const of = (...states: string[]) => countStates(states.map((state) => ({ state })))
  expect([of(), of('paused'), of('paused', 'running', 'failed', 'running')]).toEqual([
    ...['', '1 paused', '2 running, 1 paused, 1 failed'],
  ])
})
