/** The content security policy of the built page. Every other test fails when the page breaks it. */
import { expect, test } from './demo.ts'

test('[E16] the built page has its policy before everything else, and nothing inline', async ({ page }) => {
  const html = await (await page.request.get('/')).text()
  const head = html.slice(html.indexOf('<head>') + '<head>'.length)
  const [meta = ''] = /^\s*<meta[^>]+>/.exec(head) ?? []
  expect(meta).toContain('http-equiv="Content-Security-Policy"')
  const policy = meta.replaceAll('&#39;', "'")
  for (const directive of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]) {
    expect(policy).toContain(directive)
  }
  expect(policy).not.toMatch(/unsafe-|(?:default|script|style|worker)-src[^;]*(?:https?:|\*)/)
  for (const [tag] of html.matchAll(/<script[^>]*>/g)) expect(tag).toMatch(/ src="\.\/assets\/[\w.-]+\.js"/)
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i)
})

test('[E16] what is injected does not run', async ({ demo, page, reports }) => {
  await demo.open()
  reports.expect(/^violation: /, /Content Security Policy|TrustedScript|TrustedHTML/)
  const outcomes = await page.evaluate(async () => {
    const said: string[] = []
    // A script of a test may do what the page may not. What comes later is the page's.
    await new Promise(resolve => setTimeout(resolve))
    const attempt = (name: string, run: () => unknown) => {
      try {
        run()
        said.push(`${name}: done`)
      } catch (error) {
        said.push(`${name}: ${(error as Error).name}`)
      }
    }
    attempt('script text', () => {
      const script = document.createElement('script')
      script.append('window.injected = true')
      document.body.append(script)
    })
    attempt('script address', () => {
      const script = document.createElement('script')
      script.src = 'data:text/javascript,window.injected=true'
    })
    attempt('markup', () => {
      document.body.innerHTML = '<img src=x onerror="window.injected = true">'
    })
    attempt('eval', () => globalThis.eval('window.injected = true'))
    attempt('worker', () => new Worker('data:text/javascript,0'))
    const frame = document.createElement('iframe')
    frame.src = 'https://example.invalid/'
    document.body.append(frame)
    await new Promise(resolve => setTimeout(resolve, 300))
    return { said, injected: 'injected' in window }
  })
  expect(outcomes).toEqual({
    said: [
      'script text: done',
      'script address: TypeError',
      'markup: TypeError',
      'eval: EvalError',
      'worker: TypeError',
    ],
    injected: false,
  })
  expect(reports.all.join('\n')).toMatch(/violation: frame-src/)
  // The page itself goes on.
  await demo.ask('Still there? [fast]')
})

test('[E16] a page that may not store anything of its own still opens, answers and changes its colours', async ({
  demo,
  page,
}) => {
  await page.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(window, name, {
        get: () => {
          throw new DOMException('The store is not allowed', 'SecurityError')
        },
      })
    }
  })
  await page.emulateMedia({ colorScheme: 'light' })
  await demo.open()
  await demo.ask('Make the page dark. [fast]')
  await expect(page.locator('.tool .state')).toHaveText(/✓ done/)
  await expect(page.getByRole('button', { name: 'Switch to light' })).toBeVisible()
  await demo.prompt.fill('a draft')
  await demo.startSession()
  await expect(demo.prompt).toHaveValue('')
})
