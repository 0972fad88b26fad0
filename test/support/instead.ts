/** The object with these members instead of its own. The methods of both are called on the object. */
export function instead<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const member: unknown = Reflect.get(members, name) ?? Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
