// A headless Chromium that does what lines of JSON on standard input say; one line of JSON answers each.
// SPDX-License-Identifier: Apache-2.0
import {createRequire} from 'node:module';
import readline from 'node:readline';

const {chromium} = createRequire(process.env.ARION_NODE_MODULES + '/')('playwright-core');
const browser = await chromium.launch({executablePath: process.env.ARION_CHROMIUM, args: ['--no-sandbox']});
const pages = new Map();

async function open({name, url, width, height, scheme}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme: scheme, deviceScaleFactor: 1});
  const page = await context.newPage();
  const entry = {page, errors: [], requests: []};
  page.on('pageerror', error => entry.errors.push(`${error}`));
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') entry.errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on('request', request => entry.requests.push(request.url()));
  pages.set(name, entry);
  await page.goto(url);
}

const commands = {
  open,
  close: async ({name}) => {
    await pages.get(name).page.context().close();
    pages.delete(name);
  },
  // Waits until `script` gives something true, and gives that. (waitForFunction needs eval, which the page forbids.)
  wait: async ({name, script, seconds}) => {
    const deadline = Date.now() + seconds * 1000;
    for (;;) {
      const value = await pages.get(name).page.evaluate(`(${script}) || null`).catch(error => {
        if (Date.now() > deadline) throw error;
        return null;
      });
      if (value && typeof value === 'object') return true;
      if (value) return value;
      if (Date.now() > deadline) throw new Error('in vain');
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  },
  evaluate: async ({name, script}) => pages.get(name).page.evaluate(script),
  press: async ({name, key}) => pages.get(name).page.keyboard.press(key),
  resize: async ({name, width, height}) => pages.get(name).page.setViewportSize({width, height}),
  scheme: async ({name, scheme}) => pages.get(name).page.emulateMedia({colorScheme: scheme}),
  screenshot: async ({name, path}) => {
    await pages.get(name).page.screenshot({path, fullPage: true});
  },
  errors: async ({name}) => pages.get(name).errors.splice(0),
  requests: async ({name}) => pages.get(name).requests,
};

for await (const line of readline.createInterface({input: process.stdin})) {
  const {command, ...rest} = JSON.parse(line);
  let answer;
  try {
    answer = {result: (await commands[command](rest)) ?? null};
  } catch (error) {
    answer = {error: `${error}`};
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
