import { describe, expect, test } from 'vitest'
import { realPlace, safeHref } from './links.ts'

describe('a target', () => {
  test.each([
    ['https://a.example', 'https://a.example/'],
    ['HTTP://A.example/x?y#z', 'http://a.example/x?y#z'],
    ['mailto:a@b.example', 'mailto:a@b.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example/'],
  ])('%s may be followed', (target, href) => expect(safeHref(target)).toBe(href))

  test.each([
    ...['javascript:1', 'JAVASCRIPT:1', ' javascript:1', 'java\tscript:1', 'java\nscript:1', '\u0001javascript:1'],
    ...[
      '\u200bjavascript:1',
      'data:text/html,x',
      'vbscript:x',
      'file:///x',
      'blob:https://a.example/1',
      'ftp://a.example',
    ],
    ...[
      '//a.example',
      '/a',
      'a',
      '#a',
      '?a',
      '',
      'https:',
      'https:a.example',
      'https:///a',
      'https:\\\\a',
      'http:/a',
      'mailto:',
    ],
    ...[
      'https://',
      'https://[',
      'https://a b',
      ' https://a.example',
      '\u00a0https://a.example',
      'https\u200b://a.example',
    ],
  ])('%j may not', target => expect(safeHref(target)).toBeNull())
})

describe('the place of a link', () => {
  test.each([
    ['the tide tables', 'https://a.example/'],
    ['https://a.example', 'https://a.example/'],
    ['a.example/b/c.html', 'https://a.example/b/c.html'],
    ['https://a.example/…', 'https://a.example/long'],
    ['www.a.example', 'http://a.example/'],
    ['A.example', 'https://a.example/'],
    ['a@b.example', 'mailto:a@b.example'],
    ['write to us', 'mailto:a@b.example'],
    ['e.g. this', 'https://a.example/'],
    ['1.5 times', 'https://a.example/'],
  ])('%s → %s needs no word', (label, href) => expect(realPlace(label, href)).toBeNull())

  test.each([
    ['https://bank.example', 'https://evil.example/', 'evil.example'],
    ['bank.example', 'https://evil.example:8080/', 'evil.example:8080'],
    ['Log in at bank.example now', 'https://evil.example/', 'evil.example'],
    ['https://bank.example@evil.example', 'https://bank.example@evil.example/', 'evil.example'],
    ['https://evil.example/', 'https://evil.example@worse.example/', 'worse.example'],
    ['bank.example\u2044evil.example', 'https://evil.example/', 'evil.example'],
    ['bank。example', 'https://evil.example/', 'evil.example'],
    ['ｂａｎｋ.example', 'https://evil.example/', 'evil.example'],
    ['bаnk.example', 'https://bank.example/', 'bank.example'],
    ['https://localhost', 'https://evil.example/', 'evil.example'],
    ['bank.example\\@evil.example', 'https://evil.example/', 'evil.example'],
    ['a@bank.example', 'mailto:a@evil.example', 'a@evil.example'],
    ['a@bank.example', 'https://evil.example/', 'evil.example'],
    ['https://bank.example', 'mailto:a@evil.example', 'a@evil.example'],
  ])('%s → %s is said to be %s', (label, href, place) => expect(realPlace(label, href)).toBe(place))
})
