/** Listeners: each is told once for each time it was added, and nobody who has left. */
import { expect, it, vi } from 'vitest'
import { Listeners } from './listeners.ts'

it('[V10] tells a function as often as it was added, and each remover removes its own', () => {
  const listeners = new Listeners<string>()
  const listener = vi.fn()
  const [removeFirst, removeSecond] = [listeners.add(listener), listeners.add(listener)]
  listeners.tell('both')
  removeFirst()
  removeFirst()
  listeners.tell('one')
  removeSecond()
  listeners.tell('none')
  expect(listener.mock.calls).toEqual([['both'], ['both'], ['one']])
})

it('[V10] does not tell who was removed meanwhile, nor who came meanwhile', () => {
  const listeners = new Listeners()
  const told: string[] = []
  listeners.add(() => {
    told.push('first')
    removeSecond()
    listeners.add(() => told.push('third'))
  })
  const removeSecond = listeners.add(() => told.push('second'))
  listeners.tell()
  expect(told).toEqual(['first'])
})

it('[V11] starts with the first listener, stops with the last one, and starts again', () => {
  const stop = vi.fn()
  const start = vi.fn(() => stop)
  const listeners = new Listeners(start)
  const [one, two] = [listeners.add(() => undefined), listeners.add(() => undefined)]
  one()
  expect([start.mock.calls.length, stop.mock.calls.length]).toEqual([1, 0])
  two()
  two()
  expect([start.mock.calls.length, stop.mock.calls.length]).toEqual([1, 1])
  listeners.add(() => undefined)
  expect(start).toHaveBeenCalledTimes(2)
})

it('[V10] tells the others when one fails, and its failure surfaces', () => {
  vi.useFakeTimers()
  const listeners = new Listeners()
  const other = vi.fn()
  listeners.add(() => {
    throw new Error('mine')
  })
  listeners.add(other)
  listeners.tell()
  expect(other).toHaveBeenCalledOnce()
  expect(() => vi.runAllTimers()).toThrow('mine')
  vi.useRealTimers()
})
