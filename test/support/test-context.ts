/**
 * Cheaper bookkeeping for `node:test`, loaded before the runner. To find out to which test a call belongs, the runner
 * uses an async hook on every promise, which takes up to two thirds of a test's processor time. Here an
 * AsyncLocalStorage holds the running test instead.
 */
import asyncHooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from 'node:async_hooks';

const running = new AsyncLocalStorage<AsyncResource>();
const { createHook, executionAsyncId } = asyncHooks;
const { runInAsyncScope } = AsyncResource.prototype;
let init: HookCallbacks['init'];

/** True for tests, suites and hooks of `node:test`, which does not export their classes. */
const isTest = (resource: AsyncResource) => 'createSubtest' in resource;

asyncHooks.createHook = (callbacks) => {
  init = callbacks.init;
  asyncHooks.createHook = createHook;
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
asyncHooks.executionAsyncId = () => running.getStore()?.asyncId() ?? executionAsyncId();

AsyncResource.prototype.runInAsyncScope = function (fn, thisArg, ...args) {
  const call = () => Reflect.apply(fn, thisArg, args);
  if (!isTest(this)) return Reflect.apply(runInAsyncScope, this, [call]);
  init?.(this.asyncId(), 'Test', this.triggerAsyncId(), this);
  return Reflect.apply(runInAsyncScope, this, [() => running.run(this, call)]);
};
